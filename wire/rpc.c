/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpc.c - ONC RPC version 2 message headers (RFC 5531 sections 8, 9 and 10, AUTH_SYS in appendix
 * A).
 *
 * Normal operation.  A call is `xid, CALL, 2, prog, vers, proc, credentials, verifier` and then the
 * arguments; a reply is `xid, REPLY, ACCEPTED, verifier, SUCCESS` and then the results.  We send
 * AUTH_SYS or AUTH_NONE credentials and always a null verifier.
 *
 * Refusals.  What a server must answer instead of dropping it (a foreign RPC version, credentials
 * that do not decode) comes back as -EPROTO with the answer filled in; a message that is no call,
 * or stops before its procedure number, has nobody to answer to and is -EBADMSG.
 */
#include "wire/wire.h"

#include <errno.h>
#include <string.h>

enum { MSG_CALL = 0, MSG_REPLY = 1 };
enum { REPLY_ACCEPTED = 0, REPLY_DENIED = 1 };
enum { REJECT_RPC_MISMATCH = 0, REJECT_AUTH_ERROR = 1 };

/* RFC 5531 section 8.2: the body of credentials and verifiers. */
#define AUTH_BODY_MAX 400
#define MACHINE_NAME_MAX 255

static void put_null_auth(struct wire_enc *e)
{
	wire_put_u32(e, WIRE_AUTH_NONE);
	wire_put_u32(e, 0);
}

static void put_auth_sys(struct wire_enc *e, const struct wire_cred *cred)
{
	size_t machine_len = strnlen(cred->machine, WIRE_MAX_MACHINE);
	uint32_t ngroups = cred->ngroups < WIRE_MAX_GROUPS ? cred->ngroups : WIRE_MAX_GROUPS;
	/* stamp, machine's length, uid, gid, ngroups: 5 words */
	size_t body = 5 * 4 + machine_len + WIRE_PAD(machine_len) + 4 * (size_t)ngroups;

	wire_put_u32(e, WIRE_AUTH_SYS);
	wire_put_u32(e, (uint32_t)body);
	wire_put_u32(e, cred->stamp);
	wire_put_opaque(e, cred->machine, machine_len);
	wire_put_u32(e, cred->uid);
	wire_put_u32(e, cred->gid);
	wire_put_u32(e, ngroups);
	for (uint32_t i = 0; i < ngroups; i++)
		wire_put_u32(e, cred->groups[i]);
}

void wire_rpc_call_encode(struct wire_enc *e, uint32_t xid, uint32_t prog, uint32_t vers,
			  uint32_t proc, const struct wire_cred *cred)
{
	wire_put_u32(e, xid);
	wire_put_u32(e, MSG_CALL);
	wire_put_u32(e, WIRE_RPC_VERSION);
	wire_put_u32(e, prog);
	wire_put_u32(e, vers);
	wire_put_u32(e, proc);
	if (cred)
		put_auth_sys(e, cred);
	else
		put_null_auth(e);
	put_null_auth(e);
}

/* The body of AUTH_SYS credentials; false when it is not exactly one. */
static bool get_auth_sys(const uint8_t *body, size_t len, struct wire_cred *cred)
{
	struct wire_dec d;
	const uint8_t *machine;
	size_t machine_len, keep;

	wire_dec_init(&d, body, len);
	cred->stamp = wire_get_u32(&d);
	machine = wire_get_opaque(&d, MACHINE_NAME_MAX, &machine_len);
	keep = machine_len < WIRE_MAX_MACHINE ? machine_len : WIRE_MAX_MACHINE;
	if (machine)
		memcpy(cred->machine, machine, keep);
	cred->machine[keep] = '\0';
	cred->uid = wire_get_u32(&d);
	cred->gid = wire_get_u32(&d);
	cred->ngroups = wire_get_u32(&d);
	if (d.bad || cred->ngroups > WIRE_MAX_GROUPS)
		return false;
	for (uint32_t i = 0; i < cred->ngroups; i++)
		cred->groups[i] = wire_get_u32(&d);
	return !d.bad && wire_dec_left(&d) == 0;
}

static int refuse_auth(struct wire_rpc_error *error, enum wire_auth_stat stat)
{
	*error = (struct wire_rpc_error){
		.denied = true, .stat = REJECT_AUTH_ERROR, .auth_stat = stat};
	return -EPROTO;
}

int wire_rpc_call_decode(struct wire_dec *d, struct wire_rpc_call *call,
			 struct wire_rpc_error *error)
{
	size_t start = wire_dec_pos(d);
	size_t cred_len, verf_len;
	const uint8_t *body;
	uint32_t type, version, verf_flavor;

	memset(call, 0, sizeof(*call));
	call->xid = wire_get_u32(d);
	type = wire_get_u32(d);
	version = wire_get_u32(d);
	call->prog = wire_get_u32(d);
	if (d->bad || type != MSG_CALL)
		return -EBADMSG;
	if (version != WIRE_RPC_VERSION) {
		*error = (struct wire_rpc_error){.denied = true,
						 .stat = REJECT_RPC_MISMATCH,
						 .low = WIRE_RPC_VERSION,
						 .high = WIRE_RPC_VERSION};
		return -EPROTO;
	}
	call->vers = wire_get_u32(d);
	call->proc = wire_get_u32(d);
	call->flavor = wire_get_u32(d);
	if (d->bad)
		return -EBADMSG;
	body = wire_get_opaque(d, AUTH_BODY_MAX, &cred_len);
	if (d->bad)
		return refuse_auth(error, WIRE_AUTH_BADCRED);
	verf_flavor = wire_get_u32(d);
	wire_get_opaque(d, AUTH_BODY_MAX, &verf_len);
	if (d->bad)
		return refuse_auth(error, WIRE_AUTH_BADVERF);
	call->header_len = wire_dec_pos(d) - start;
	if (call->flavor != WIRE_AUTH_SYS)
		return 0;
	if (!get_auth_sys(body, cred_len, &call->cred))
		return refuse_auth(error, WIRE_AUTH_BADCRED);
	/* RFC 5531 appendix A: AUTH_SYS goes with a null verifier. */
	if (verf_flavor != WIRE_AUTH_NONE || verf_len)
		return refuse_auth(error, WIRE_AUTH_BADVERF);
	call->has_cred = true;
	return 0;
}

void wire_rpc_reply_encode(struct wire_enc *e, uint32_t xid)
{
	wire_put_u32(e, xid);
	wire_put_u32(e, MSG_REPLY);
	wire_put_u32(e, REPLY_ACCEPTED);
	put_null_auth(e);
	wire_put_u32(e, WIRE_SUCCESS);
}

void wire_rpc_error_encode(struct wire_enc *e, uint32_t xid, const struct wire_rpc_error *error)
{
	wire_put_u32(e, xid);
	wire_put_u32(e, MSG_REPLY);
	wire_put_u32(e, error->denied ? REPLY_DENIED : REPLY_ACCEPTED);
	if (!error->denied)
		put_null_auth(e);
	wire_put_u32(e, error->stat);
	if (error->denied && error->stat == REJECT_AUTH_ERROR) {
		wire_put_u32(e, error->auth_stat);
	} else if (error->denied || error->stat == WIRE_PROG_MISMATCH) {
		wire_put_u32(e, error->low);
		wire_put_u32(e, error->high);
	}
}

/* After the xid and the type, of a reply that was accepted. */
static int get_accepted(struct wire_dec *d, struct wire_rpc_error *error)
{
	size_t verf_len;

	wire_get_u32(d); /* the verifier's flavor */
	wire_get_opaque(d, AUTH_BODY_MAX, &verf_len);
	error->stat = wire_get_u32(d);
	if (error->stat == WIRE_PROG_MISMATCH) {
		error->low = wire_get_u32(d);
		error->high = wire_get_u32(d);
	}
	if (d->bad || error->stat > WIRE_SYSTEM_ERR)
		return -EBADMSG;
	return error->stat == WIRE_SUCCESS ? 0 : -EPROTO;
}

static int get_denied(struct wire_dec *d, struct wire_rpc_error *error)
{
	error->denied = true;
	error->stat = wire_get_u32(d);
	if (error->stat == REJECT_AUTH_ERROR) {
		error->auth_stat = wire_get_u32(d);
	} else {
		error->low = wire_get_u32(d);
		error->high = wire_get_u32(d);
	}
	return d->bad || error->stat > REJECT_AUTH_ERROR ? -EBADMSG : -EPROTO;
}

int wire_rpc_reply_decode(struct wire_dec *d, uint32_t *xid, struct wire_rpc_error *error)
{
	uint32_t type, stat;
	int err;

	memset(error, 0, sizeof(*error));
	*xid = wire_get_u32(d);
	type = wire_get_u32(d);
	stat = wire_get_u32(d);
	if (d->bad || type != MSG_REPLY || stat > REPLY_DENIED)
		err = -EBADMSG;
	else if (stat == REPLY_ACCEPTED)
		err = get_accepted(d, error);
	else
		err = get_denied(d, error);
	if (err == -EBADMSG)
		d->bad = true;
	return err;
}

static const char *auth_text(uint32_t auth_stat)
{
	switch (auth_stat) {
	case WIRE_AUTH_BADCRED:
		return "credentials refused (bad seal)";
	case WIRE_AUTH_REJECTEDCRED:
		return "credentials refused (begin anew)";
	case WIRE_AUTH_BADVERF:
		return "verifier refused (bad seal)";
	case WIRE_AUTH_REJECTEDVERF:
		return "verifier refused (expired)";
	case WIRE_AUTH_TOOWEAK:
		return "authentication too weak";
	default:
		return "authentication failed";
	}
}

const char *wire_rpc_error_text(const struct wire_rpc_error *error)
{
	if (error->denied && error->stat == REJECT_AUTH_ERROR)
		return auth_text(error->auth_stat);
	if (error->denied)
		return "RPC version not supported";
	switch (error->stat) {
	case WIRE_SUCCESS:
		return "success";
	case WIRE_PROG_UNAVAIL:
		return "program unavailable";
	case WIRE_PROG_MISMATCH:
		return "program version unavailable";
	case WIRE_PROC_UNAVAIL:
		return "procedure unavailable";
	case WIRE_GARBAGE_ARGS:
		return "server could not decode the arguments";
	default:
		return "system error at the server";
	}
}

int wire_rpc_error_errno(const struct wire_rpc_error *error)
{
	if (error->denied && error->stat == REJECT_AUTH_ERROR)
		return error->auth_stat == WIRE_AUTH_TOOWEAK ? -EPERM : -EACCES;
	if (error->denied)
		return -EPROTONOSUPPORT;
	switch (error->stat) {
	case WIRE_SUCCESS:
		return 0;
	case WIRE_PROG_UNAVAIL:
	case WIRE_PROG_MISMATCH:
		return -EPROTONOSUPPORT;
	case WIRE_PROC_UNAVAIL:
		return -EOPNOTSUPP;
	default:
		return -EREMOTEIO;
	}
}
