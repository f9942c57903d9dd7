/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.c - a private nfsrdmad on loopback, for a bench without a target.
 *
 * It is looked for beside this program, then where the build tree and an installation have it.
 * Ports are free ones the server picks and tells in its ready line; its files and its state lie in
 * a temporary folder nobody else may enter.  It ends with us whatever happens: by SIGTERM when the
 * bench is done, by the kernel (PR_SET_PDEATHSIG) when the bench dies.
 *
 * It gets a session of its own, so that Ctrl-C at a terminal stops the bench first and not the
 * server under its feet.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "tools/nfsrdma-bench/client.h"

#define SERVER_READY_MS 15000
#define SERVER_STOP_MS 10000
/* Beside the files: the server's state and what the file system needs itself. */
#define SERVER_SLACK (UINT64_C(16) << 20)
#define SERVER_PATH 4096

struct bench_server {
	pid_t pid;
	int pidfd;
	char dir[SERVER_PATH]; /* holds "files", "state" and "log" */
	uint16_t rdma_port, tcp_port;
};

/* ---- the folder
 * ---------------------------------------------------------------------------------- */

static int server_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void server_remove_dir(struct bench_server *server)
{
	nftw(server->dir, server_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int server_check_space(const char *parent, uint64_t need, struct util_err *err)
{
	char need_text[24], free_text[24];
	struct statvfs fs;
	uint64_t room;

	if (statvfs(parent, &fs))
		return util_err_set(err, -errno, "%s: %s", parent, strerror(errno));
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (need + SERVER_SLACK <= room)
		return 0;
	util_size_format(need, need_text, sizeof(need_text));
	util_size_format(room, free_text, sizeof(free_text));
	util_err_set(err, -ENOSPC, "the files take %s and %s has %s free", need_text, parent,
		     free_text);
	util_err_hint(err, "use --dir on a larger file system, or a smaller -s");
	return -ENOSPC;
}

static int server_make_dir(struct bench_server *server, const char *parent, struct util_err *err)
{
	char path[SERVER_PATH + 16];

	snprintf(server->dir, sizeof(server->dir), "%s/nfsrdma-bench.XXXXXX", parent);
	if (!mkdtemp(server->dir))
		return util_err_set(err, -errno, "make a folder in %s: %s", parent,
				    strerror(errno));
	snprintf(path, sizeof(path), "%s/files", server->dir);
	/* Open to whom root is squashed to; the folder above keeps all others out. */
	if (mkdir(path, 0700) || chmod(path, geteuid() ? 0700 : 0777))
		return util_err_set(err, -errno, "make %s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/state", server->dir);
	if (mkdir(path, 0700))
		return util_err_set(err, -errno, "make %s: %s", path, strerror(errno));
	return 0;
}

/* ---- the program
 * ----------------------------------------------------------------------------------- */

static bool server_try(char *path, const char *dir, const char *tail)
{
	if (snprintf(path, SERVER_PATH, "%s%s", dir, tail) >= SERVER_PATH)
		return false;
	return access(path, X_OK) == 0;
}

static int server_find(char *path, struct util_err *err)
{
	static const char places[][40] = {
		"/nfsrdmad",
		"/../nfsrdmad/nfsrdmad",
		"/../sbin/nfsrdmad",
		"/../libexec/nfsrdmad",
		"/../libexec/nfsrdma/nfsrdmad",
	};
	char dir[SERVER_PATH];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	if (n > 0) {
		dir[n] = '\0';
		slash = strrchr(dir, '/');
		if (slash)
			*slash = '\0';
		for (size_t i = 0; i < UTIL_ARRAY_SIZE(places); i++)
			if (server_try(path, dir, places[i]))
				return 0;
	}
	util_err_set(err, -ENOENT, "no nfsrdmad beside this program");
	util_err_hint(err, "name a server with --target SERVER:/DIR");
	return -ENOENT;
}

static void server_exec(const struct bench_server *server, const char *program, int out)
{
	char export[SERVER_PATH + 32], state[SERVER_PATH + 16], log[SERVER_PATH + 16];
	sigset_t none;
	int fd;

	snprintf(export, sizeof(export), "%s/files=/bench", server->dir);
	snprintf(state, sizeof(state), "%s/state", server->dir);
	snprintf(log, sizeof(log), "%s/log", server->dir);
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	fd = open("/dev/null", O_RDONLY);
	dup2(fd, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(fd, STDERR_FILENO);
	execl(program, "nfsrdmad", "--export", export, "--listen", "127.0.0.1", "--port", "0",
	      "--tcp-port", "0", "--no-rpcbind", "--state", state, (char *)NULL);
	dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
	_exit(127);
}

/* ---- the ready line
 * ---------------------------------------------------------------------------------- */

/* A line from fd within SERVER_READY_MS: 0, -ETIMEDOUT, -EPIPE (it ended first). */
static int server_read_line(int fd, char *line, size_t len)
{
	uint64_t deadline = util_clock_ns() + SERVER_READY_MS * UTIL_NS_PER_MS;
	size_t have = 0;

	while (have < len - 1) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (poll(&pfd, 1, util_clock_until_ms(deadline)) <= 0)
			return -ETIMEDOUT;
		n = read(fd, line + have, 1);
		if (n <= 0)
			return -EPIPE;
		if (line[have] == '\n')
			break;
		have++;
	}
	line[have] = '\0';
	return 0;
}

static int server_parse_ready(struct bench_server *server, const char *line)
{
	json_t *root = json_loads(line, 0, NULL);
	json_int_t rdma = json_integer_value(json_object_get(root, "rdma_port"));
	json_int_t tcp = json_integer_value(json_object_get(root, "tcp_port"));

	json_decref(root);
	if (rdma < 0 || rdma > UINT16_MAX || tcp <= 0 || tcp > UINT16_MAX)
		return -EPROTO;
	server->rdma_port = (uint16_t)rdma;
	server->tcp_port = (uint16_t)tcp;
	return 0;
}

/* Its own last words explain best why it did not start. */
static void server_last_words(const struct bench_server *server, struct util_err *err, int code)
{
	char path[SERVER_PATH + 16], line[200], last[200] = "it said nothing";
	FILE *log;

	snprintf(path, sizeof(path), "%s/log", server->dir);
	log = fopen(path, "re");
	while (log && fgets(line, sizeof(line), log)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			snprintf(last, sizeof(last), "%s", line);
	}
	if (log)
		fclose(log);
	util_err_set(err, code, "the private server did not start: %s", last);
}

static int server_launch(struct bench_server *server, const char *program, struct util_err *err)
{
	char line[1024];
	int out[2], ret;

	if (pipe2(out, O_CLOEXEC))
		return util_err_set(err, -errno, "pipe: %s", strerror(errno));
	server->pid = fork();
	if (!server->pid)
		server_exec(server, program, out[1]);
	close(out[1]);
	if (server->pid < 0) {
		close(out[0]);
		server->pid = 0;
		return util_err_set(err, -errno, "fork: %s", strerror(errno));
	}
	ret = server_read_line(out[0], line, sizeof(line));
	if (!ret)
		ret = server_parse_ready(server, line);
	close(out[0]);
	if (ret)
		server_last_words(server, err, ret);
	return ret;
}

/* ---- the outside
 * --------------------------------------------------------------------------------------- */

static bool server_wants_tcp(const char *opts)
{
	char copy[512], *save = NULL;
	bool tcp = false;

	snprintf(copy, sizeof(copy), "%s", opts ? opts : "");
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (!strncmp(word, "proto=", 6))
			tcp = !strncmp(word + 6, "tcp", 3);
		else if (!strcmp(word, "tcp"))
			tcp = true;
		else if (!strcmp(word, "rdma"))
			tcp = false;
	}
	return tcp;
}

int bench_server_start(struct bench_server **serverp, const char *dir, uint64_t need,
		       struct util_err *err)
{
	const char *parent = dir ? dir : getenv("TMPDIR");
	char program[SERVER_PATH];
	struct bench_server *server;
	int ret;

	if (!parent || !*parent)
		parent = "/tmp";
	ret = server_find(program, err);
	if (!ret)
		ret = server_check_space(parent, need, err);
	if (ret)
		return ret;
	server = calloc(1, sizeof(*server));
	if (!server)
		return util_err_set(err, -ENOMEM, "no memory");
	server->pidfd = -1;
	ret = server_make_dir(server, parent, err);
	if (!ret)
		ret = server_launch(server, program, err);
	if (ret) {
		bench_server_stop(server);
		return ret;
	}
	/* Without pidfd_open(2) its end is noticed when nothing moves any more. */
	server->pidfd = (int)syscall(SYS_pidfd_open, server->pid, 0);
	*serverp = server;
	return 0;
}

static void server_end(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	kill(pid, SIGTERM);
	for (unsigned waited = 0; waited < SERVER_STOP_MS; waited += 5) {
		if (waitpid(pid, NULL, WNOHANG))
			return;
		nanosleep(&pause, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void bench_server_stop(struct bench_server *server)
{
	if (!server)
		return;
	if (server->pid > 0)
		server_end(server->pid);
	if (server->pidfd >= 0)
		close(server->pidfd);
	server_remove_dir(server);
	free(server);
}

/* The user's options come last: what he asks for wins. */
void bench_server_place(const struct bench_server *server, const char *mount_opts, char *buf,
			size_t len, struct bench_place *place)
{
	bool tcp = server_wants_tcp(mount_opts);

	snprintf(buf, len, "port=%u,mountport=%u%s%s", tcp ? server->tcp_port : server->rdma_port,
		 server->tcp_port, mount_opts ? "," : "", mount_opts ? mount_opts : "");
	place->target = "127.0.0.1:/bench";
	place->opts = buf;
	place->nfs_port = server->tcp_port;
	place->mount_port = server->tcp_port;
}

const char *bench_server_dir(const struct bench_server *server)
{
	return server->dir;
}

int bench_server_pidfd(const struct bench_server *server)
{
	return server->pidfd;
}

double bench_server_cpu_s(const struct bench_server *server)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(server->pid, &clock) || clock_gettime(clock, &ts))
		return -1;
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}
