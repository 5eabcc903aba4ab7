//! The resolution of modules: the files that an import of Python or JavaScript would load.
//!
//! Imports are followed by name, and nothing is run. Packages in `node_modules` are refused: nobody inspected their
//! code, and authors bundle it anyway.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// The files that an import loads, of all versions of an interpreter where their rules differ, and none for a module that is
/// installed with the interpreter; or the reason why they are not inspected.
type ImportedFiles = Result<Vec<PathBuf>, String>;

/// Returns the names of modules and packages that lie in a folder. A folder without `__init__.py` does not count: an
/// installed package would come before it.
pub(super) fn beside(folder: &Path) -> BTreeSet<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let path = entry.path();
        let is_module =
            path.join("__init__.py").is_file() || path.extension().is_some_and(|ending| ending == "py");
        path.file_stem()?.to_str().filter(|_| is_module).map(str::to_owned)
    });
    names.collect()
}

/// Returns the files of a Python module and of the packages around it, and nothing if none of them lies below `folder`,
/// the first place where Python looks.
pub(super) fn python(folder: &Path, importer: &Path, dots: usize, path: &str) -> ImportedFiles {
    let mut at = folder.to_owned();
    if dots > 0 {
        let package = importer.ancestors().nth(dots);
        let Some(package) = package.filter(|package| package.starts_with(folder)) else {
            let dots = ".".repeat(dots);
            return Err(format!("'{dots}{path}' leads out of the script's folder"));
        };
        package.clone_into(&mut at);
    }
    let mut files = Vec::new();
    add_file(&mut files, at.join("__init__.py"), dots > 0);
    for name in path.split('.').filter(|name| !name.is_empty()) {
        if let Some(compiled) = compiled(&at, name) {
            return Err(unreadable(path, &compiled));
        }
        add_file(&mut files, at.join(format!("{name}.py")), true);
        at.push(name);
        add_file(&mut files, at.join("__init__.py"), true);
        if !at.is_dir() {
            break;
        }
    }
    Ok(files)
}

fn add_file(files: &mut Vec<PathBuf>, file: PathBuf, wanted: bool) {
    if wanted && file.is_file() {
        files.push(file);
    }
}

/// Returns the file of a module that Python would load without its source.
fn compiled(folder: &Path, name: &str) -> Option<String> {
    let entries = folder.read_dir().ok()?.flatten();
    let mut files = entries.filter_map(|entry| entry.file_name().into_string().ok());
    files.find(|file| {
        let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        rest.is_some_and(|rest| {
            COMPILED.iter().any(|ending| rest == *ending || rest.ends_with(&format!(".{ending}")))
        })
    })
}

/// Returns the files of a module of JavaScript or TypeScript.
pub(super) fn javascript(importer: &Path, module: &str) -> ImportedFiles {
    let package = module.split('/').next().unwrap_or(module);
    if module.starts_with("node:") || BUILTIN.lines().any(|name| name == package) {
        return Ok(Vec::new());
    }
    let is_path = ["./", "../", "/"].into_iter().any(|start| module.starts_with(start));
    if !is_path && !matches!(module, "." | "..") {
        return Err(format!(
            "'{module}' is a package, or a path that settings explain, and is not inspected: bundle it into the script, or \
             have an operator add the server to mgp.toml"
        ));
    }
    if module.contains(['%', '?', '#', '\\']) {
        return Err(format!("'{module}' has another spelling: write the path plainly"));
    }
    let at = plain(&importer.parent().unwrap_or_else(|| Path::new("/")).join(module));
    let mut files = Vec::new();
    candidates(&at, &mut files);
    if at.is_dir() {
        let settings = at.join(SETTINGS);
        let package: Value =
            serde_json::from_slice(&std::fs::read(&settings).unwrap_or_default()).unwrap_or_default();
        // The settings of a package name its main module.
        if let Some(main) = package["main"].as_str() {
            candidates(&plain(&at.join(main)), &mut files);
        }
        add_file(&mut files, settings, true);
        candidates(&at.join("index"), &mut files);
    }
    let is_native = |ending: &OsStr| NATIVE.iter().any(|known| ending == *known);
    if let Some(native) = files.iter().find(|file| file.extension().is_some_and(is_native)) {
        return Err(unreadable(module, &native.display()));
    }
    if files.is_empty() {
        return Err(format!("'{module}' is not there"));
    }
    Ok(files)
}

fn unreadable(module: &str, file: &dyn Display) -> String {
    format!("'{module}' is {file}, which is no source that can be read")
}

/// Adds the files that a path may mean: the path itself, with an extension added, and with the extension that the file
/// has before it is compiled.
fn candidates(at: &Path, files: &mut Vec<PathBuf>) {
    add_file(files, at.to_owned(), true);
    let Some(name) = at.file_name().and_then(|name| name.to_str()) else { return };
    for ending in ENDINGS {
        add_file(files, at.with_file_name(format!("{name}.{ending}")), true);
    }
    for (compiled, sources) in SOURCES {
        if let Some(stem) = name.strip_suffix(compiled) {
            for source in *sources {
                add_file(files, at.with_file_name(format!("{stem}{source}")), true);
            }
        }
    }
}

/// Returns the settings that say how a file is read: those of its package.
pub(super) fn settings(file: &Path) -> Option<PathBuf> {
    let ending = file.extension()?.to_str()?;
    if !ENDINGS.contains(&ending) {
        return None;
    }
    file.ancestors().skip(1).take(MAX_FOLDERS).map(|folder| folder.join(SETTINGS)).find(|file| file.is_file())
}

/// Returns the path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

const SETTINGS: &str = "package.json";
const MAX_FOLDERS: usize = 4;
const COMPILED: &[&str] = &["so", "pyd", "pyc", "dylib", "dll"];
const NATIVE: &[&str] = &["node", "wasm"];
const ENDINGS: &[&str] = &["js", "mjs", "cjs", "json", "node", "ts", "mts", "cts", "tsx", "jsx"];
const SOURCES: &[(&str, &[&str])] =
    &[(".js", &[".ts", ".tsx"]), (".jsx", &[".tsx"]), (".mjs", &[".mts"]), (".cjs", &[".cts"])];

/// The modules that are part of Node.
const BUILTIN: &str = include_str!("builtin.txt");
