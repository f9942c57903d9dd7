# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += %D%/every-procedure.py %D%/libnfs-tools.sh %D%/tshark-tcp.sh
