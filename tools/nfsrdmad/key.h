/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key.h - the server's secret, kept in its state folder.
 */
#ifndef NFSRDMAD_KEY_H
#define NFSRDMAD_KEY_H

#include <stdbool.h>

#include "tools/nfsrdmad/siphash.h"
#include "util/util.h"

/*
 * Read the key of state folder dir, or make both.  dir NULL: the default folder; if that cannot
 * be used, a key for this run alone (*keptp false).  With a dir given, failing is an error.
 */
int server_key_load(const char *dir, uint8_t key[SERVER_KEY_LEN], bool *keptp,
		    struct util_err *err);

#endif
