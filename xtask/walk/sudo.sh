#!/bin/sh
# Stands in for `sudo -u USER COMMAND…` where root runs it and sudo is not installed.
[ "$1" = -u ] || exit 1
shift
user=$1
shift
exec runuser -u "$user" -- "$@"
