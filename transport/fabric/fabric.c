/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric.c - what all fabrics share: completion statuses in words.
 *
 * A completion error reaches a user once, through the connection's util_err; the name says what the
 * device reported, the hint what usually causes it.
 */
#include "transport/fabric/fabric.h"

struct status_words {
	const char *name, *hint;
};

static const struct status_words statuses[] = {
	[FABRIC_WC_OK] = {"success", ""},
	[FABRIC_WC_FLUSHED] = {"flushed",
			       "the connection ended before this work request was carried out"},
	[FABRIC_WC_LENGTH] =
		{"local length error",
		 "the peer sent more than the receive buffer holds: the inline sizes of "
		 "the two sides disagree, try inline=1024"},
	[FABRIC_WC_LOCAL_PROTECTION] = {"local protection error",
					"a local buffer is not registered, or no longer"},
	[FABRIC_WC_REMOTE_ACCESS] = {"remote access error",
				     "the peer refused a key, an address range or a right"},
	[FABRIC_WC_REMOTE_ERROR] = {"remote operation error",
				    "the peer's device could not carry out the request"},
	[FABRIC_WC_RETRY] = {"transport retries exhausted",
			     "the peer stopped answering: is the server up and the link intact?"},
	[FABRIC_WC_RNR] = {"receiver not ready",
			   "the peer had no receive posted: one side exceeded its credits"},
	[FABRIC_WC_OTHER] = {"unspecified completion error", "see the device's log"},
};

const char *fabric_wc_status_name(enum fabric_wc_status status)
{
	if ((unsigned)status >= UTIL_ARRAY_SIZE(statuses))
		return "unknown status";
	return statuses[status].name;
}

const char *fabric_wc_status_hint(enum fabric_wc_status status)
{
	if ((unsigned)status >= UTIL_ARRAY_SIZE(statuses))
		return "";
	return statuses[status].hint;
}
