# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += %D%/bench.sh %D%/every-procedure.py %D%/handle-after-restart.py %D%/libnfs-tools.sh \
	%D%/nfsrdmad.sh %D%/tshark-tcp.sh %D%/unprivileged-server.sh
