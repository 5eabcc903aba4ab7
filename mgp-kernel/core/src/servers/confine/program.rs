//! The files that a program consists of: itself, its installation, and the interpreter that its first line names.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use mgp_types::{WordLists, word_lists};

use crate::platform::program_files::{PACKAGE_SCRIPTS, SCRIPTS, has_extension, is_executable};

/// The places in which programs and scripts are looked for.
#[derive(Debug, Clone)]
pub(crate) struct ProgramSearch<'a> {
    /// The folders of `PATH`.
    pub(crate) path: &'a str,
    /// The working directory of the program.
    pub(crate) folder: &'a Path,
    /// The home of the user; neither the folders above it nor the whole of it belong to a program.
    pub(crate) home: Option<&'a Path>,
}

impl ProgramSearch<'_> {
    /// Returns the file that `command` names.
    pub(crate) fn program(&self, command: &str) -> Option<PathBuf> {
        if command.contains('/') {
            let file = self.folder.join(command);
            return file.is_file().then_some(file);
        }
        self.folders().map(|folder| folder.join(command)).find(|file| is_executable(file))
    }

    /// Returns the folders of `PATH`.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        std::env::split_paths(self.path).map(|folder| self.folder.join(folder))
    }

    /// Returns the files and folders that `program` consists of.
    pub(super) fn parts(&self, program: &Path) -> Vec<PathBuf> {
        let mut parts = Vec::new();
        self.add_parts(program, &mut parts, LONGEST_CHAIN);
        parts
    }

    fn add_parts(&self, program: &Path, parts: &mut Vec<PathBuf>, further: u8) {
        let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        if further == 0 || parts.contains(&real) {
            return;
        }
        parts.push(real.clone());
        for file in [program, &real] {
            if let Some(installation) = self.installation(file) {
                if let Some(base) = environment_base(&installation) {
                    self.add_parts(&base.join("python3"), parts, further - 1);
                }
                parts.push(installation);
            }
        }
        if let Some(interpreter) = self.interpreter(&real) {
            self.add_parts(&interpreter, parts, further - 1);
        }
    }

    /// Returns the folder that a program was installed to, if it has one to itself.
    pub(super) fn installation(&self, program: &Path) -> Option<PathBuf> {
        let folder = program.parent()?;
        let is_programs = known("program folders").iter().any(|name| folder.ends_with(name));
        let installation = folder.parent().filter(|_| is_programs)?;
        let has_libraries = known("library folders").iter().any(|name| installation.join(name).is_dir());
        (has_libraries && !self.is_shared(installation)).then(|| installation.to_owned())
    }

    /// Returns whether a folder holds the things of many programs, or of the user.
    pub(super) fn is_shared(&self, folder: &Path) -> bool {
        if folder.parent().is_none() {
            return true;
        }
        self.home.is_some_and(|home| {
            home.starts_with(folder) || known("shared in a home").iter().any(|name| home.join(name) == folder)
        })
    }

    /// Returns the program that the first line of a script names.
    fn interpreter(&self, script: &Path) -> Option<PathBuf> {
        let mut begin = Vec::new();
        File::open(script).ok()?.take(LONGEST_FIRST_LINE).read_to_end(&mut begin).ok()?;
        let line = std::str::from_utf8(begin.split(|byte| *byte == b'\n').next()?).ok()?;
        let mut words = line.strip_prefix("#!")?.split_whitespace();
        let first = words.next()?;
        if !first.ends_with("/env") {
            return Some(PathBuf::from(first));
        }
        let named = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        self.program(named)
    }

    /// Returns the folder of the script among `args`, or the script alone if it lies among the things of the user.
    pub(super) fn script(&self, args: &[&str]) -> Option<PathBuf> {
        let (file, is_of_package) = args.iter().filter(|arg| !arg.starts_with('-')).find_map(|arg| {
            let named = self.folder.join(arg);
            // A package's program among those of all packages is a link to a script.
            let file = named.canonicalize().unwrap_or(named);
            let is_of_package = has_extension(&file, &PACKAGE_SCRIPTS);
            let is_script = (is_of_package || has_extension(&file, &SCRIPTS)) && file.is_file();
            is_script.then_some((file, is_of_package))
        })?;
        let folder = file.parent()?;
        let own = || folder.ancestors().take_while(|folder| !self.is_shared(folder));
        // The packages that a package needs lie beside it.
        let packages = || own().filter(|folder| folder.ends_with(PACKAGES)).last();
        let package = || packages().or_else(|| own().find(|folder| folder.join(PACKAGE).is_file()));
        let folder = if is_of_package { package().unwrap_or(folder) } else { folder };
        Some(if self.is_shared(folder) { file.clone() } else { folder.to_owned() })
    }
}

/// Returns the folder of the programs that a Python environment was made from.
fn environment_base(installation: &Path) -> Option<PathBuf> {
    let settings = std::fs::read_to_string(installation.join("pyvenv.cfg")).ok()?;
    let home = settings.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| value.trim().to_owned())
    })?;
    Some(PathBuf::from(home))
}

/// The largest number of programs that may lead to one another.
const LONGEST_CHAIN: u8 = 6;

/// The number of bytes of a first line that systems read.
const LONGEST_FIRST_LINE: u64 = 256;

/// The known paths, and the names of folders and files.
static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("folders.txt")));

/// Returns the list under this heading of `folders.txt`, which says what each is for.
pub(super) fn known(list: &str) -> &'static [&'static str] {
    &LISTS[list]
}

/// The list of the paths that every program needs to start: programs, libraries, and what libraries look up.
pub(super) const SYSTEM: &str = if cfg!(target_os = "macos") { "system of macOS" } else { "system" };

/// The folder in which systems keep settings.
pub(super) const SETTINGS: &str = "/etc";

/// The port of the name service.
pub(super) const NAME_SERVICE: u16 = 53;

/// The folder of installed packages.
const PACKAGES: &str = "node_modules";

/// The file that marks the folder of a JavaScript package.
pub(super) const PACKAGE: &str = "package.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn made(home: &Path, files: &[&str]) {
        for file in files {
            std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            std::fs::write(home.join(file), "").unwrap();
        }
    }

    #[test]
    fn an_installation_belongs_to_its_program_and_shared_folders_do_not() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        made(
            &home,
            &[
                ".versions/3/bin/python3", ".versions/3/lib/os.py", ".local/bin/tool", ".local/lib/x",
                "bin/mine", "lib/x",
            ],
        );
        let search = ProgramSearch { path: "", folder: &home, home: Some(&home) };
        let parts = |file: &str| search.parts(&home.join(file));
        assert_eq!(
            parts(".versions/3/bin/python3"),
            [home.join(".versions/3/bin/python3"), home.join(".versions/3"), home.join(".versions/3")]
        );
        assert_eq!(parts(".local/bin/tool"), [home.join(".local/bin/tool")]);
        assert_eq!(parts("bin/mine"), [home.join("bin/mine")]);
    }

    #[cfg(unix)]
    #[test]
    fn the_interpreter_of_a_script_belongs_to_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        made(&home, &["tools/run"]);
        std::fs::write(home.join("serve"), format!("#!{}/tools/run -x\n", home.display())).unwrap();
        let search = ProgramSearch { path: "", folder: &home, home: Some(&home) };
        assert_eq!(search.parts(&home.join("serve")), [home.join("serve"), home.join("tools/run")]);
    }

    #[test]
    fn the_folder_of_a_script_is_its_own_and_a_home_is_nobodys() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        made(&home, &["a/serve.py", "serve.py", "web/package.json", "web/build/index.js", "notes.txt"]);
        let search = ProgramSearch { path: "", folder: &home, home: Some(&home) };
        assert_eq!(search.script(&["-u", "a/serve.py"]), Some(home.join("a")));
        assert_eq!(search.script(&["serve.py"]), Some(home.join("serve.py")));
        assert_eq!(search.script(&["web/build/index.js"]), Some(home.join("web")));
        assert_eq!(search.script(&["notes.txt", "nowhere.py"]), None);
    }
}
