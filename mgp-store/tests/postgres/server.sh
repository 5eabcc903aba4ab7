# Runs a PostgreSQL in the folder $1 at the port $2 until the standard input ends; the programs are those of the folder $3.
set -e
data=$1/data
"$3/initdb" --pgdata="$data" --auth=trust --username=postgres --no-sync --no-locale --encoding=UTF8 >"$1/log"
cat >>"$data/postgresql.conf" <<END
port = $2
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
ssl_cert_file = '$1/server.pem'
ssl_key_file = '$1/server.key'
END
"$3/pg_ctl" --pgdata="$data" --log="$1/log" --wait start >>"$1/log"
echo ready
cat >/dev/null
main=$(head -n 1 "$data/postmaster.pid")
kill -CONT "$main" $(cat "/proc/$main/task/$main/children") || true
"$3/pg_ctl" --pgdata="$data" --mode=immediate stop >>"$1/log"
rm -rf "$1"
