/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proxy.c - a TCP link between client and server that can be cut, delayed, stalled and corrupted.
 *
 *   proxy [HOST:]PORT [--cut-after BYTES] [--corrupt-at BYTE] [--stall-after BYTES] [--times N]
 *         [--to-server|--to-client] [--delay-us US] [--slice BYTES] [--rst] [--listen ADDRESS]
 *         [--from-port PORT]
 *
 * Listens on a free port of 127.0.0.1 (or ADDRESS) and prints it; HOST is 127.0.0.1, too.  With
 * --from-port every connection to the server comes from that port, as a client's would that keeps
 * its own, so only one can be there at a time.  BYTES are counted for each connection, in the
 * chosen direction (default: both together).  A fault strikes in the first N connections (default
 * 1) and is then used up; --cut-after 0 cuts at once after accepting.  Lines on stdin command it at
 * any moment: "cut" (all connections), "refuse" / "accept" (new ones), "stall" / "resume", "mute
 * PROCEDURE", "quit"; end of file quits.
 *
 * After "mute PROCEDURE" the next call of that NFSv3 procedure goes through, and from then on what
 * the server sends on its connection is lost: the server does it, the client does not hear of it.
 * The call is found by the five words of its RPC header, which stand in a record of TCP and in a
 * Send of iWARP alike.
 *
 * One connection pair at a time per thread-less poll loop; bounded buffers; a blocked side blocks
 * the other.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_PAIRS 64
#define WORDS 20 /* bytes of the words that tell a call */
#define BUF_SIZE (256 * 1024)

enum { TO_SERVER, TO_CLIENT };

struct flow {
	uint8_t buf[BUF_SIZE];
	size_t off, len;
};

struct pair {
	int fd[2]; /* client, server */
	struct flow flow[2];
	uint64_t bytes;	       /* in the direction that counts */
	uint8_t recent[WORDS]; /* the last bytes the client sent */
	bool armed, stalled, muted;
};

struct faults {
	int64_t cut_after, corrupt_at, stall_after;
	unsigned times, delay_us;
	size_t slice;
	bool count[2], rst, refuse, stall_all;
	struct in_addr listen, host;
	uint16_t from_port;
	int mute; /* the procedure, -1: none */
};

static struct pair *pairs[MAX_PAIRS];
static struct faults faults = {
	.cut_after = -1,
	.corrupt_at = -1,
	.stall_after = -1,
	.times = 1,
	.slice = BUF_SIZE,
	.mute = -1,
	.count = {true, true},
};

static void pair_close(struct pair **slot)
{
	struct linger hard = {1, 0};

	for (int i = 0; i < 2; i++) {
		if (faults.rst)
			setsockopt((*slot)->fd[i], SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close((*slot)->fd[i]);
	}
	free(*slot);
	*slot = NULL;
}

static int connect_target(int port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(faults.from_port)};
	int one = 1;

	sin.sin_addr = faults.host;
	if (fd >= 0 && faults.from_port) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
			perror("proxy: bind");
	}
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void pair_open(int listener, int port)
{
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC), one = 1;
	struct pair *p;

	if (client < 0)
		return;
	for (size_t i = 0; i < MAX_PAIRS && !faults.refuse; i++) {
		if (pairs[i])
			continue;
		p = calloc(1, sizeof(*p));
		if (!p)
			break;
		p->fd[0] = client;
		p->fd[1] = connect_target(port);
		if (p->fd[1] < 0) {
			free(p);
			break;
		}
		for (int k = 0; k < 2; k++) {
			setsockopt(p->fd[k], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			fcntl(p->fd[k], F_SETFL, O_NONBLOCK);
		}
		p->armed = faults.times > 0;
		pairs[i] = p;
		if (p->armed && faults.cut_after == 0) {
			faults.times--;
			pair_close(&pairs[i]);
		}
		return;
	}
	close(client);
}

/* Apply the faults to n fresh bytes at data; how many of them still go through, -1: cut now. */
static ssize_t strike(struct pair *p, uint8_t *data, size_t n)
{
	uint64_t end = p->bytes + n;

	if (p->armed && faults.corrupt_at >= 0 && (uint64_t)faults.corrupt_at < end &&
	    (uint64_t)faults.corrupt_at >= p->bytes) {
		data[(uint64_t)faults.corrupt_at - p->bytes] ^= 0x40;
		p->armed = false;
		faults.times--;
	}
	if (p->armed && faults.cut_after > 0 && (uint64_t)faults.cut_after <= end) {
		n = (size_t)((uint64_t)faults.cut_after - p->bytes);
		p->armed = false;
		faults.times--;
		return -1 - (ssize_t)n;
	}
	if (p->armed && faults.stall_after >= 0 && (uint64_t)faults.stall_after <= end) {
		p->stalled = true;
		p->armed = false;
		faults.times--;
	}
	p->bytes = end;
	return (ssize_t)n;
}

/* Does a call of the procedure that is to stay unanswered end in these bytes from the client? */
static void listen_for_call(struct pair *p, const uint8_t *data, size_t n)
{
	/* CALL, RPC version 2, program 100003, version 3, procedure */
	uint8_t words[WORDS] = {0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 3};

	words[WORDS - 1] = (uint8_t)faults.mute;
	for (size_t i = 0; i < n && faults.mute >= 0; i++) {
		memmove(p->recent, p->recent + 1, WORDS - 1);
		p->recent[WORDS - 1] = data[i];
		if (memcmp(p->recent, words, WORDS) == 0) {
			p->muted = true;
			faults.mute = -1;
		}
	}
}

/* false: the pair is to be closed. */
static bool flow_read(struct pair *p, int dir)
{
	struct flow *f = &p->flow[dir];
	ssize_t n = read(p->fd[dir], f->buf, faults.slice), pass = n;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	if (p->muted && dir == TO_CLIENT)
		return true;
	if (dir == TO_SERVER)
		listen_for_call(p, f->buf, (size_t)n);
	if (faults.count[dir])
		pass = strike(p, f->buf, (size_t)n);
	if (pass < 0) {
		ssize_t sent = write(p->fd[!dir], f->buf, (size_t)(-1 - pass));

		(void)sent;
		return false;
	}
	if (faults.delay_us)
		usleep(faults.delay_us);
	f->off = 0;
	f->len = (size_t)pass;
	return true;
}

static bool flow_write(struct pair *p, int dir)
{
	struct flow *f = &p->flow[dir];
	ssize_t n = write(p->fd[!dir], f->buf + f->off, f->len - f->off);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	f->off += (size_t)n;
	if (f->off == f->len)
		f->off = f->len = 0;
	return true;
}

static bool pair_step(struct pair *p, const struct pollfd *pfd)
{
	for (int dir = 0; dir < 2; dir++) {
		bool full = p->flow[dir].len > 0;

		if (!full && (pfd[dir].revents & (POLLIN | POLLHUP | POLLERR))) {
			if (!flow_read(p, dir))
				return false;
			full = p->flow[dir].len > 0;
		}
		if (full && !flow_write(p, dir))
			return false;
	}
	return true;
}

static bool command(void)
{
	char line[256];
	ssize_t n = read(0, line, sizeof(line) - 1);

	if (n <= 0)
		return false;
	line[n] = '\0';
	for (char *save, *word = strtok_r(line, " \n", &save); word;
	     word = strtok_r(NULL, " \n", &save)) {
		if (!strcmp(word, "quit"))
			return false;
		if (!strcmp(word, "refuse") || !strcmp(word, "accept"))
			faults.refuse = word[0] == 'r';
		if (!strcmp(word, "stall") || !strcmp(word, "resume"))
			faults.stall_all = word[0] == 's';
		if (!strcmp(word, "mute") && (word = strtok_r(NULL, " \n", &save)))
			faults.mute = atoi(word);
		for (size_t i = 0; i < MAX_PAIRS && word && !strcmp(word, "cut"); i++) {
			if (pairs[i])
				pair_close(&pairs[i]);
		}
	}
	return true;
}

static size_t watch_pairs(struct pollfd *pfd, size_t *index)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_PAIRS; i++) {
		struct pair *p = pairs[i];

		if (!p || p->stalled || faults.stall_all)
			continue;
		for (int dir = 0; dir < 2; dir++) {
			pfd[n + (size_t)dir].fd = p->fd[dir];
			pfd[n + (size_t)dir].events = (short)((p->flow[dir].len ? 0 : POLLIN) |
							      (p->flow[!dir].len ? POLLOUT : 0));
		}
		index[n / 2] = i;
		n += 2;
	}
	return n;
}

static void serve(int listener, int port)
{
	struct pollfd pfd[2 + 2 * MAX_PAIRS];
	size_t index[MAX_PAIRS], n;

	for (;;) {
		pfd[0] = (struct pollfd){.fd = 0, .events = POLLIN};
		pfd[1] = (struct pollfd){.fd = listener, .events = POLLIN};
		n = watch_pairs(pfd + 2, index);
		if (poll(pfd, (nfds_t)(2 + n), -1) < 0 && errno != EINTR)
			return;
		for (size_t i = 0; i < n / 2; i++) {
			if (pairs[index[i]] && !pair_step(pairs[index[i]], &pfd[2 + 2 * i]))
				pair_close(&pairs[index[i]]);
		}
		if (pfd[1].revents)
			pair_open(listener, port);
		if (pfd[0].revents && !command())
			return;
	}
}

static int parse(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		const char *opt = argv[i];

		if (!strcmp(opt, "--rst"))
			faults.rst = true;
		else if (!strcmp(opt, "--to-server"))
			faults.count[TO_CLIENT] = false;
		else if (!strcmp(opt, "--to-client"))
			faults.count[TO_SERVER] = false;
		else if (i + 1 == argc)
			return -1;
		else if (!strcmp(opt, "--cut-after"))
			faults.cut_after = atoll(argv[++i]);
		else if (!strcmp(opt, "--corrupt-at"))
			faults.corrupt_at = atoll(argv[++i]);
		else if (!strcmp(opt, "--stall-after"))
			faults.stall_after = atoll(argv[++i]);
		else if (!strcmp(opt, "--times"))
			faults.times = (unsigned)atoi(argv[++i]);
		else if (!strcmp(opt, "--delay-us"))
			faults.delay_us = (unsigned)atoi(argv[++i]);
		else if (!strcmp(opt, "--slice"))
			faults.slice = (size_t)atoi(argv[++i]);
		else if (!strcmp(opt, "--from-port"))
			faults.from_port = (uint16_t)atoi(argv[++i]);
		else if (!strcmp(opt, "--listen") && inet_aton(argv[i + 1], &faults.listen))
			i++;
		else
			return -1;
	}
	return faults.slice && faults.slice <= BUF_SIZE ? 0 : -1;
}

/* "HOST:PORT" or "PORT"; the port, or -1. */
static int parse_target(char *text)
{
	char *colon = strchr(text, ':');

	faults.host.s_addr = htonl(INADDR_LOOPBACK);
	if (!colon)
		return atoi(text);
	*colon = '\0';
	return inet_aton(text, &faults.host) ? atoi(colon + 1) : -1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int port;

	faults.listen.s_addr = htonl(INADDR_LOOPBACK);
	if (argc < 2 || parse(argc, argv) < 0 || (port = parse_target(argv[1])) <= 0) {
		fprintf(stderr, "usage: proxy [HOST:]PORT [faults]\n");
		return 2;
	}
	sin.sin_addr = faults.listen;
	if (listener < 0 || bind(listener, (struct sockaddr *)&sin, len) < 0 ||
	    listen(listener, 16) < 0 || getsockname(listener, (struct sockaddr *)&sin, &len) < 0) {
		perror("proxy");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	printf("%d\n", ntohs(sin.sin_port));
	fflush(stdout);
	serve(listener, port);
	return 0;
}
