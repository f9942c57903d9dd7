/* SPDX-License-Identifier: BSD-2-Clause */
/* test_options.c - every option once, near misses, ranges. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <criterion/criterion.h>

#include "client/nfsrdma.h"
#include "client/options.h"

static struct client_options parsed(const char *list)
{
	struct client_options o;
	struct util_err err;

	util_err_clear(&err);
	client_options_init(&o);
	cr_assert_eq(client_options_parse(&o, list, &err), 0, "%s: %s", list, err.what);
	return o;
}

static void refused(const char *list, const char *words)
{
	struct client_options o;
	struct util_err err;

	util_err_clear(&err);
	client_options_init(&o);
	cr_assert_eq(client_options_parse(&o, list, &err), -EINVAL, "%s was taken", list);
	cr_assert(strstr(err.what, words), "%s: \"%s\" does not say \"%s\"", list, err.what, words);
}

Test(client_options, defaults_are_those_of_the_manual)
{
	struct client_options o = parsed("");

	cr_assert_eq(o.proto, CLIENT_PROTO_AUTO);
	cr_assert_eq(o.timeo_ds, 600u);
	cr_assert_eq(o.retrans, 2u);
	cr_assert_eq(o.nconnect, 1u);
	cr_assert_eq(o.retry_min, 0u);
	cr_assert_eq(o.numa_node, -1);
	cr_assert(!o.soft && !o.file_sync && !o.resvport && !o.read_only && !o.fallback_tcp);
}

Test(client_options, transports)
{
	cr_assert_eq(parsed("rdma").proto, CLIENT_PROTO_RDMA);
	cr_assert_eq(parsed("tcp").proto, CLIENT_PROTO_TCP);
	cr_assert_eq(parsed("proto=rdma").proto, CLIENT_PROTO_RDMA);
	cr_assert_eq(parsed("proto=tcp").family, 0u);
	cr_assert_eq(parsed("proto=tcp6").family, (uint32_t)AF_INET6);
	cr_assert_eq(parsed("proto=tcp6").proto, CLIENT_PROTO_TCP);
	cr_assert_eq(parsed("proto=rdma6,proto=rdma").family, 0u);
	cr_assert_eq(parsed("port=20049").port, 20049u);
	cr_assert_eq(parsed("fabric=auto").fabric, TRANSPORT_FABRIC_AUTO);
	cr_assert_eq(parsed("fabric=verbs").fabric, TRANSPORT_FABRIC_VERBS);
	cr_assert_eq(parsed("fabric=iwarp").fabric, TRANSPORT_FABRIC_IWARP);
	cr_assert(parsed("fallback=tcp").fallback_tcp);
	cr_assert_eq(parsed("nconnect=16").nconnect, 16u);
	cr_assert(parsed("resvport").resvport);
	cr_assert(!parsed("resvport,noresvport").resvport);
	refused("proto=udp", "udp");
	refused("udp", "udp");
	refused("fallback=udp", "not one of tcp");
	refused("nconnect=0", "out of range");
	refused("nconnect=17", "out of range");
	refused("port=65536", "out of range");
}

Test(client_options, mount)
{
	struct client_options o = parsed("mountport=892,mounthost=other.example,mountproto=tcp,"
					 "mountvers=3,retry=10,fg");

	cr_assert_eq(o.mountport, 892u);
	cr_assert_str_eq(o.mounthost, "other.example");
	cr_assert_eq(o.mountproto, CLIENT_MOUNT_TCP);
	cr_assert_eq(o.retry_min, 10u);
	cr_assert_eq(parsed("mountproto=rdma").mountproto, CLIENT_MOUNT_NFS_CONN);
	cr_assert_eq(parsed("mountproto=udp").mountproto, CLIENT_MOUNT_UDP);
	refused("mountvers=1", "not one of 3");
	refused("mounthost=", "empty");
	refused("bg", "retry=");
}

Test(client_options, protocol)
{
	parsed("vers=3");
	parsed("nfsvers=3,v3,sec=sys,nolock,local_lock=none,noacl");
	refused("vers=4", "version 3");
	refused("nfsvers=4.2", "version 3");
	refused("minorversion=1", "version 3");
	refused("sec=krb5", "Kerberos");
	refused("sec=krb5i", "Kerberos");
	refused("sec=krb5p", "Kerberos");
	refused("lock", "NLM");
	refused("local_lock=all", "locks");
	refused("acl", "NFSACL");
}

Test(client_options, ids)
{
	struct client_options o = parsed("uid=0,gid=4294967294");

	cr_assert(o.set_uid && o.set_gid);
	cr_assert_eq(o.uid, 0u);
	cr_assert_eq(o.gid, 4294967294u);
	cr_assert(!parsed("uid=5").set_gid);
	refused("uid=4294967295", "out of range");
	refused("uid=-1", "not a whole number");
	refused("uid=root", "not a whole number");
}

Test(client_options, calls)
{
	struct client_options o = parsed("rsize=64k,wsize=1M,timeo=1,retrans=0");

	cr_assert_eq(o.rsize, 65536u);
	cr_assert_eq(o.wsize, 1048576u);
	cr_assert_eq(o.timeo_ds, 1u);
	cr_assert_eq(o.retrans, 0u);
	cr_assert_eq(parsed("rsize=4095").rsize, 4095u);
	cr_assert(parsed("soft").soft);
	cr_assert(parsed("softerr").soft);
	cr_assert(!parsed("soft,hard").soft);
	parsed("intr,nointr");
	cr_assert(parsed("write=filesync").file_sync);
	cr_assert(!parsed("write=filesync,write=unstable").file_sync);
	cr_assert(parsed("sync").file_sync);
	cr_assert(!parsed("sync,async").file_sync);
	cr_assert(parsed("ro").read_only);
	cr_assert(!parsed("ro,rw").read_only);
	cr_assert(parsed("nordirplus").no_readdirplus);
	cr_assert(!parsed("nordirplus,rdirplus").no_readdirplus);
	refused("rsize=0", "out of range");
	refused("rsize=5g", "out of range");
	refused("rsize=", "not a size");
	refused("rsize=4q", "not a size");
	refused("rsize=99999999999999999999999", "out of range");
	refused("timeo=0", "out of range");
	refused("rsize", "needs a value");
	refused("soft=1", "takes no value");
}

Test(client_options, memory)
{
	cr_assert_eq(parsed("max-pinned=2g").max_pinned, UINT64_C(2) << 30);
	cr_assert_eq(parsed("hugepages=2m").hugepages, MR_HUGE_2M);
	cr_assert_eq(parsed("hugepages=1g").hugepages, MR_HUGE_1G);
	cr_assert_eq(parsed("hugepages=off").hugepages, MR_HUGE_OFF);
	cr_assert_eq(parsed("hugepages=auto").hugepages, MR_HUGE_AUTO);
	cr_assert_eq(parsed("numa=3").numa_node, 3);
	cr_assert_eq(parsed("numa=3,numa=auto").numa_node, -1);
	cr_assert_eq(parsed("inline=1k").inline_size, 1024u);
	cr_assert_eq(parsed("slots=16384").slots, 16384u);
	cr_assert_eq(parsed("crc=on").crc, FABRIC_CRC_ON);
	cr_assert_eq(parsed("crc=off").crc, FABRIC_CRC_OFF);
	cr_assert_eq(parsed("crc=auto").crc, FABRIC_CRC_AUTO);
	parsed("mr=pool,iommu=off");
	parsed("iommu=strict,iommu-inval-ns=2000");
	parsed("iommu=lazy");
	parsed("iommu=passthrough");
	cr_assert_eq(parsed("mr=window").mr_mode, MR_MODE_WINDOW);
	cr_assert_eq(parsed("mr=cache").mr_mode, MR_MODE_CACHE);
	cr_assert_eq(parsed("mr=per-io").mr_mode, MR_MODE_PER_IO);
	cr_assert_eq(parsed("mr=odp").mr_mode, MR_MODE_ODP);
	refused("mr=pools", "pool");
	cr_assert_eq(parsed("mr=cache,mr-monitor=on").mr_monitor, MR_MONITOR_ON);
	cr_assert(parsed("mr-verify").mr_verify);
	refused("iommu=on", "strict");
	refused("slots=0", "out of range");
	refused("inline=1000", "out of range");
	refused("max-pinned=100", "out of range");
	refused("hugepages=4m", "did you mean 2m");
}

Test(client_options, what_fstab_may_hold)
{
	parsed("defaults,_netdev,nofail,auto,noauto,user,users,nouser,owner,group,suid,nosuid,dev,"
	       "nodev,exec,noexec,atime,noatime,diratime,nodiratime,relatime,norelatime,"
	       "strictatime,comment=x,x-systemd.automount,X-mount.mkdir=0755,dirsync");
	parsed("ac,acregmin=3,acregmax=60,acdirmin=30,acdirmax=60,actimeo=1,cto,nocto,"
	       "lookupcache=all,lookupcache=none,lookupcache=pos,lookupcache=positive,sharecache,"
	       "nosharecache,nofsc");
	cr_assert(parsed("noac").file_sync); /* nfs(5): noac implies sync */
	refused("fsc", "no cache");
}

Test(client_options, empty_elements_are_harmless)
{
	cr_assert(parsed(",,soft,,").soft);
	cr_assert(parsed(NULL).timeo_ds == 600);
}

Test(client_options, a_misspelt_one_names_its_neighbours)
{
	refused("rszie=4k", "did you mean rsize");
	refused("rsiz=4k", "did you mean rsize");
	refused("nolcok", "nolock");
	refused("max_pinned=1m", "max-pinned");
	refused("prot=rdma", "proto");
	refused("huge=2m", "hugepages");
	refused("proto=rmda", "did you mean rdma");
	refused("fabric=ivarp", "iwarp");
	refused("quux", "unknown option \"quux\"");
}

Test(client_options, nothing_far_off_is_suggested)
{
	struct client_options o;
	struct util_err err;

	client_options_init(&o);
	util_err_clear(&err);
	cr_assert_eq(client_options_parse(&o, "zzzzzz", &err), -EINVAL);
	cr_assert(!strstr(err.what, "did you mean"), "%s", err.what);
}

Test(client_options, names_that_are_hostile_are_shown_escaped)
{
	struct client_options o;
	struct util_err err;
	char longer[1000];

	client_options_init(&o);
	util_err_clear(&err);
	cr_assert_eq(client_options_parse(&o, "a\033[31mb", &err), -EINVAL);
	cr_assert(!strchr(err.what, '\033'));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	cr_assert_eq(client_options_parse(&o, longer, &err), -EINVAL);
	longer[300] = '\0';
	cr_assert_eq(client_options_parse(&o, longer, &err), -EINVAL);
}

Test(client_options, checking_needs_no_mount)
{
	cr_assert_eq(nfsrdma_options_check("rdma,rsize=1m,soft"), 0);
	cr_assert_eq(nfsrdma_options_check(NULL), 0);
	cr_assert_eq(nfsrdma_options_check("rdma,rsise=1m"), -EINVAL);
	cr_assert(strstr(nfsrdma_strerror_last(), "rsize"));
}

Test(client_suggest, counts_edits_and_swaps)
{
	cr_assert_eq(client_suggest_distance("", ""), 0u);
	cr_assert_eq(client_suggest_distance("", "abc"), 3u);
	cr_assert_eq(client_suggest_distance("abc", ""), 3u);
	cr_assert_eq(client_suggest_distance("abc", "abc"), 0u);
	cr_assert_eq(client_suggest_distance("abc", "abd"), 1u);
	cr_assert_eq(client_suggest_distance("abc", "acb"), 1u);
	cr_assert_eq(client_suggest_distance("abc", "xabc"), 1u);
	cr_assert_eq(client_suggest_distance("kitten", "sitting"), 3u);
}

Test(client_suggest, gives_up_on_monsters)
{
	char a[100];

	memset(a, 'a', sizeof(a) - 1);
	a[sizeof(a) - 1] = '\0';
	cr_assert_eq(client_suggest_distance(a, "b"), SIZE_MAX);
	a[63] = '\0';
	cr_assert_eq(client_suggest_distance(a, a), 0u);
}
