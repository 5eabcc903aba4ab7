//! The files that are run, as they are told by their names and modes, and the words of a line that starts them.

use std::path::Path;

use crate::platform;

/// The extensions of files that an interpreter runs, and that find their libraries in their folder.
pub(crate) const SCRIPTS: [&str; 10] = ["py", "pyz", "sh", "bash", "rb", "pl", "php", "lua", "jar", "dll"];

/// The extensions of those that find them in the folder of their package, too.
pub(crate) const PACKAGE_SCRIPTS: [&str; 7] = ["js", "mjs", "cjs", "ts", "mts", "cts", "tsx"];

/// Returns whether a file has one of these extensions.
pub(crate) fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    let own = file.extension().and_then(|own| own.to_str());
    own.is_some_and(|own| extensions.iter().any(|extension| own.eq_ignore_ascii_case(extension)))
}

/// Returns whether a file is one that is run: a program, or a script by its name.
pub(crate) fn is_program_file(file: &Path) -> bool {
    let is_script = || has_extension(file, &SCRIPTS) || has_extension(file, &PACKAGE_SCRIPTS);
    file.is_file() && (is_script() || is_executable(file))
}

/// Returns whether a file can be run by its mode.
pub(crate) fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| platform::is_program(&found))
}

/// Returns the words of an argument, which is a line where a shell is started.
pub(crate) fn words_of(argument: &str) -> impl Iterator<Item = &str> {
    argument.split(|c: char| c.is_whitespace() || "'\"=;&|()".contains(c)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_line_are_without_its_signs() {
        let words: Vec<_> = words_of("cd '/a b' && A=1 exec \"$0\" /c/d.py;").collect();
        assert_eq!(words, ["cd", "/a", "b", "A", "1", "exec", "$0", "/c/d.py"]);
    }
}
