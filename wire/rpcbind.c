/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpcbind.c - arguments and results of the port mapper and of rpcbind (RFC 1833).
 *
 * Texts are copied into fixed arrays, since they are short, few and not on a data path.
 */
#include "wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void wire_rpcbind_map_encode(struct wire_enc *e, const struct wire_rpcbind_map *map)
{
	wire_put_u32(e, map->prog);
	wire_put_u32(e, map->vers);
	wire_put_u32(e, map->prot);
	wire_put_u32(e, map->port);
}

int wire_rpcbind_map_decode(struct wire_dec *d, struct wire_rpcbind_map *map)
{
	map->prog = wire_get_u32(d);
	map->vers = wire_get_u32(d);
	map->prot = wire_get_u32(d);
	map->port = wire_get_u32(d);
	return d->bad ? -EBADMSG : 0;
}

/* A text of less than size bytes into buf, terminated. */
static void get_text(struct wire_dec *d, char *buf, size_t size)
{
	size_t len;
	const uint8_t *text = wire_get_opaque(d, size - 1, &len);

	if (text && memchr(text, '\0', len)) {
		d->bad = true;
		len = 0;
	}
	if (text)
		memcpy(buf, text, len);
	buf[len] = '\0';
}

static void put_text(struct wire_enc *e, const char *text)
{
	wire_put_opaque(e, text, strlen(text));
}

void wire_rpcbind_rpcb_encode(struct wire_enc *e, const struct wire_rpcbind_rpcb *rpcb)
{
	wire_put_u32(e, rpcb->prog);
	wire_put_u32(e, rpcb->vers);
	put_text(e, rpcb->netid);
	put_text(e, rpcb->uaddr);
	put_text(e, rpcb->owner);
}

int wire_rpcbind_rpcb_decode(struct wire_dec *d, struct wire_rpcbind_rpcb *rpcb)
{
	rpcb->prog = wire_get_u32(d);
	rpcb->vers = wire_get_u32(d);
	get_text(d, rpcb->netid, sizeof(rpcb->netid));
	get_text(d, rpcb->uaddr, sizeof(rpcb->uaddr));
	get_text(d, rpcb->owner, sizeof(rpcb->owner));
	return d->bad ? -EBADMSG : 0;
}

int wire_rpcbind_bool_decode(struct wire_dec *d, bool *okp)
{
	*okp = wire_get_bool(d);
	return d->bad ? -EBADMSG : 0;
}

int wire_rpcbind_port_decode(struct wire_dec *d, uint16_t *portp)
{
	uint32_t port = wire_get_u32(d);

	if (port > UINT16_MAX)
		d->bad = true;
	*portp = d->bad ? 0 : (uint16_t)port;
	return d->bad ? -EBADMSG : 0;
}

int wire_rpcbind_uaddr_decode(struct wire_dec *d, char uaddr[WIRE_RPCBIND_UADDR_MAX + 1])
{
	get_text(d, uaddr, WIRE_RPCBIND_UADDR_MAX + 1);
	return d->bad ? -EBADMSG : 0;
}

/* RFC 5665 section 5.2.3: the port's two bytes in decimal after the address. */
bool wire_rpcbind_uaddr_format(const char *host, uint16_t port,
			       char uaddr[WIRE_RPCBIND_UADDR_MAX + 1])
{
	int n = snprintf(uaddr, WIRE_RPCBIND_UADDR_MAX + 1, "%s.%u.%u", host, port >> 8,
			 port & 0xffu);

	return n >= 0 && n <= WIRE_RPCBIND_UADDR_MAX;
}

/* One decimal byte that begins at text and is len long; -1 when it is none. */
static int decimal_byte(const char *text, size_t len)
{
	int v = 0;

	if (len == 0 || len > 3)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		v = v * 10 + (text[i] - '0');
	}
	return v <= 255 ? v : -1;
}

int wire_rpcbind_uaddr_port(const char *uaddr, uint16_t *portp)
{
	size_t len = strlen(uaddr), low = len, high;
	int high_byte, low_byte;

	while (low > 0 && uaddr[low - 1] != '.')
		low--;
	if (low < 2)
		return -EINVAL;
	high = low - 1;
	while (high > 0 && uaddr[high - 1] != '.')
		high--;
	if (high < 2)
		return -EINVAL;
	low_byte = decimal_byte(uaddr + low, len - low);
	high_byte = decimal_byte(uaddr + high, low - 1 - high);
	if (low_byte < 0 || high_byte < 0)
		return -EINVAL;
	*portp = (uint16_t)(high_byte << 8 | low_byte);
	return 0;
}
