#!/bin/sh
# Stands in for cargo for an account without a toolchain: it has what the commands of the documents build, built before.
built=${CARGO_STAND_IN:?}
case "$*" in
"run --release -- "*)
    shift 3
    exec "$built/mgp" "$@"
    ;;
"install --path mgp-kernel")
    install -D -t "$HOME/.cargo/bin" "$built/mgp"
    ;;
"test --workspace" | "build -p "*)
    echo "built and run before"
    ;;
"run -p "*" --example "*)
    shift 4
    example=$1
    shift 2
    exec "$built/examples/$example" "$@"
    ;;
*)
    echo "no stand-in for: cargo $*" >&2
    exit 1
    ;;
esac
