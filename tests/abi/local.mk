# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += %D%/header.sh %D%/layering.sh %D%/documents.sh
