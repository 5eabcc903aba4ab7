//! The code of a server: its script, and every file of its own that it loads, from one to the next.
//!
//! Files that are not found here are not there when the server runs, for it runs from a copy of those that were found.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mgp_discovery::registry::{CodeFile, InspectedCode, Inspection, visible};
use mgp_security::code_safety::{CodePolicy, Import, Language, Method, scan};
use mgp_types::canonical::Digest;
use mgp_types::mgp::{CodeRejection, CodeSafety, SafetyLevel};

use super::modules;

/// Reads the script and all files that it loads, each at the strictest level.
///
/// # Errors
/// The inspection says why the code cannot be inspected, or must not run.
pub(super) fn read(script: &Path, language: &str) -> Result<InspectedCode, Inspection> {
    let unreadable = |error: std::io::Error| Inspection::Unreadable(format!("{}: {error}", script.display()));
    let script = script.canonicalize().map_err(unreadable)?;
    let folder = script.parent().unwrap_or_else(|| Path::new("/")).to_owned();
    let mut reading = CodeReader { beside: modules::beside(&folder), folder, ..CodeReader::default() };
    reading.file(&script, &Language::read(language))?;
    while let Some(file) = reading.next.pop_front() {
        if reading.files.contains_key(&file) {
            continue;
        }
        let language = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        reading.file(&file, &Language::read(language))?;
    }
    Ok(reading.code(&script))
}

#[derive(Default)]
struct CodeReader {
    /// The folder of the script.
    folder: PathBuf,
    files: BTreeMap<PathBuf, Arc<[u8]>>,
    next: VecDeque<PathBuf>,
    bytes: usize,
    /// The names of the Python modules that lie beside the script.
    beside: BTreeSet<String>,
}

impl CodeReader {
    /// Reads one file, and notes the files that it loads.
    fn file(&mut self, file: &Path, language: &Language) -> Result<(), Inspection> {
        if self.files.len() >= MAX_FILES {
            return Err(Inspection::Unreadable(format!("it consists of more than {MAX_FILES} files")));
        }
        let content =
            read_file(file).map_err(|why| Inspection::Unreadable(format!("{}: {why}", file.display())))?;
        self.bytes += content.len();
        if self.bytes > MAX_BYTES {
            return Err(Inspection::Unreadable(format!("its files have more than {MAX_BYTES} bytes")));
        }
        let code = std::str::from_utf8(&content);
        let code = code.map_err(|_| Inspection::Unreadable(format!("{}: it is no text", file.display())))?;
        // A file of values that are read holds no code.
        if file.extension().is_some_and(|ending| ending == "json") {
            self.files.insert(file.to_owned(), content);
            return Ok(());
        }
        let imports = self.inspected(code, language).map_err(|refused| self.in_file(file, refused))?;
        let mut wrong = Vec::new();
        for import in imports {
            let found = match &import {
                Import::Python { dots, path } => modules::python(&self.folder, file, *dots, path),
                Import::JavaScript(module) => modules::javascript(file, module),
                _ => Err("it is no import that can be followed".to_owned()),
            };
            match found {
                Ok(files) => self.next.extend(files),
                Err(why) => wrong.push(format!("Blocked import: {why}").into()),
            }
        }
        if !wrong.is_empty() {
            return Err(self.in_file(file, Inspection::Rejected(Box::new(CodeRejection::new(wrong)))));
        }
        self.next.extend(modules::settings(file));
        self.files.insert(file.to_owned(), content);
        Ok(())
    }

    fn inspected(&self, code: &str, language: &Language) -> Result<Vec<Import>, Inspection> {
        let declaration = CodeSafety::new(SafetyLevel::Strict).with_language(language.to_string());
        let policy =
            CodePolicy::new(&declaration).with_modules_beside(self.beside.iter().map(String::as_str));
        match scan(code, &policy) {
            Ok(scan) if scan.method != Method::SyntaxTree => {
                Err(Inspection::Unreadable(format!("nobody here can read {language}")))
            }
            Ok(scan) => Ok(scan.imports),
            Err(rejection) => Err(Inspection::Rejected(Box::new(rejection))),
        }
    }

    /// Adds the name of the file to a refusal, if it is not the script.
    fn in_file(&self, file: &Path, refused: Inspection) -> Inspection {
        match refused {
            Inspection::Rejected(mut rejection) if !self.files.is_empty() => {
                let name = visible(&file.strip_prefix(&self.folder).unwrap_or(file).display().to_string());
                for violation in &mut rejection.violations {
                    *violation = format!("{name}: {violation}").into();
                }
                // The locations are those of one file, and nothing says which.
                rejection.locations.clear();
                Inspection::Rejected(rejection)
            }
            refused => refused,
        }
    }

    fn code(self, script: &Path) -> InspectedCode {
        let root = common_folder(self.files.keys());
        let within = |file: &Path| {
            let parts = file.strip_prefix(&root).unwrap_or(file).components();
            parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
        };
        let digest = |bytes: &[u8]| format!("sha256:{}", Digest::of_canonical(bytes));
        let mut whole = String::new();
        let mut files = Vec::new();
        for (file, content) in &self.files {
            let file = CodeFile { path: within(file), digest: digest(content) };
            whole = format!("{whole}{}\0{}\n", file.path, file.digest);
            files.push((file, Arc::clone(content)));
        }
        InspectedCode { digest: digest(whole.as_bytes()), script: within(script), files }
    }
}

/// Returns the folder that holds all of the files.
fn common_folder<'a>(files: impl Iterator<Item = &'a PathBuf>) -> PathBuf {
    let folder = |file: &PathBuf| file.parent().unwrap_or_else(|| Path::new("/")).to_owned();
    let both = |one: PathBuf, other: PathBuf| {
        let same = one.components().zip(other.components()).take_while(|(one, other)| one == other);
        same.map(|(part, _): (Component<'_>, _)| part).collect()
    };
    files.map(folder).reduce(both).unwrap_or_default()
}

fn read_file(file: &Path) -> Result<Arc<[u8]>, String> {
    use std::io::Read as _;

    // The target of a link could be another file at the next look.
    if file.canonicalize().map_err(|error| error.to_string())? != file {
        return Err("it is a link, or lies behind one".to_owned());
    }
    let opened = std::fs::File::open(file).map_err(|error| error.to_string())?;
    if !opened.metadata().is_ok_and(|found| found.is_file()) {
        return Err("it is no file".to_owned());
    }
    let mut content = Vec::new();
    let most = MAX_BYTES_OF_FILE + 1;
    opened.take(most as u64).read_to_end(&mut content).map_err(|error| error.to_string())?;
    if content.len() == most {
        return Err("it is too long to be inspected".to_owned());
    }
    Ok(content.into())
}

const MAX_FILES: usize = 200;
const MAX_BYTES: usize = 4 << 20;
const MAX_BYTES_OF_FILE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
            for (name, text) in files {
                folder.write(name, text);
            }
            folder
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn read(&self, script: &str, language: &str) -> Result<InspectedCode, String> {
            read(&self.0.path().join(script), language).map_err(|refused| match refused {
                Inspection::Rejected(rejection) => rejection.violations.join("; "),
                Inspection::Unreadable(why) => why,
                refused => panic!("{refused:?}"),
            })
        }
    }

    fn paths(code: &InspectedCode) -> Vec<&str> {
        code.files.iter().map(|(file, _)| &*file.path).collect()
    }

    #[test]
    fn what_a_script_of_python_loads_is_followed() {
        let folder = Folder::new(&[
            ("serve.py", "import json, re\nfrom parts.one import x\nimport helper\n"),
            ("json.py", "X = 1\n"),
            ("helper.py", "from parts import two\n"),
            ("parts/__init__.py", ""),
            ("parts/one.py", "from . import three\nx = 1\n"),
            ("parts/two.py", ""),
            ("parts/three.py", ""),
            ("unused.py", "import os\nos.system('id')\n"),
        ]);
        let code = folder.read("serve.py", "python").unwrap();
        assert_eq!(
            paths(&code),
            [
                "helper.py", "json.py", "parts/__init__.py", "parts/one.py", "parts/three.py",
                "parts/two.py", "serve.py"
            ]
        );
        assert_eq!(code.script, "serve.py");
        folder.write("parts/three.py", "y = 2\n");
        assert_ne!(folder.read("serve.py", "python").unwrap().digest, code.digest);
    }

    #[test]
    fn what_another_file_does_is_told_with_its_name() {
        let folder =
            Folder::new(&[("serve.py", "import helper\n"), ("helper.py", "import os\nos.system('id')\n")]);
        assert!(folder.read("serve.py", "python").unwrap_err().starts_with("helper.py: "));
        folder.write("helper.py", "import json\n");
        folder.write("json.py", "import socket\n");
        assert!(folder.read("serve.py", "python").unwrap_err().contains("json.py: Blocked import: 'socket'"));
    }

    #[test]
    fn what_is_no_source_is_refused() {
        let folder = Folder::new(&[("serve.py", "import helper\n"), ("helper.cpython-311.so", "")]);
        assert!(folder.read("serve.py", "python").unwrap_err().contains("helper"));
        let folder = Folder::new(&[("serve.mjs", "import './native.node'\n"), ("native.node", "")]);
        assert!(folder.read("serve.mjs", "javascript").is_err());
    }

    #[test]
    fn what_a_script_of_javascript_loads_is_followed() {
        let folder = Folder::new(&[
            (
                "web/build/serve.mjs",
                "import './evil.mjs'; export * from '../lib/b.js'; import data from './data.json';\n",
            ),
            ("web/build/evil.mjs", "export const x = 1;\n"),
            ("web/build/data.json", "{}"),
            ("web/lib/b.js", "export const y = require('./c');\n"),
            ("web/lib/c.js", ""),
            ("web/package.json", r#"{"type":"module"}"#),
        ]);
        let code = folder.read("web/build/serve.mjs", "javascript").unwrap();
        assert_eq!(
            paths(&code),
            ["build/data.json", "build/evil.mjs", "build/serve.mjs", "lib/b.js", "lib/c.js", "package.json"]
        );
        assert_eq!(code.script, "build/serve.mjs");
        folder.write("web/lib/c.js", "require('child_process')\n");
        assert!(folder.read("web/build/serve.mjs", "javascript").is_err());
    }

    #[test]
    fn packages_and_paths_that_settings_explain_are_refused_and_builtin_modules_are_not() {
        let folder = Folder::new(&[]);
        for (code, is_refused) in [
            ("import 'node:path'; import 'events';", false),
            ("import 'zod';", true),
            ("import '#inner';", true),
            ("import './nowhere.mjs';", true),
            ("import './%65vil.mjs';", true),
        ] {
            folder.write("serve.mjs", code);
            assert_eq!(folder.read("serve.mjs", "javascript").is_err(), is_refused, "{code}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused() {
        let folder = Folder::new(&[("serve.py", "import helper\n"), ("other/real.py", "")]);
        std::os::unix::fs::symlink(folder.0.path().join("other/real.py"), folder.0.path().join("helper.py"))
            .unwrap();
        assert!(folder.read("serve.py", "python").unwrap_err().contains("link"));
    }
}
