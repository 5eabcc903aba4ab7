//! The languages of code, and their names.

/// The language that code is written in.
///
/// ```
/// use mgp_security::code_safety::Language;
///
/// assert_eq!(Language::read("Py"), Language::Python);
/// assert_eq!(Language::read("cobol"), Language::Other("cobol".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Python 3.
    Python,
    /// JavaScript, in a browser or in Node.
    JavaScript,
    /// TypeScript, with or without JSX.
    TypeScript,
    /// Bash and the shells like it.
    Bash,
    /// A language without a grammar here, in lower case; empty if none was named.
    Other(Box<str>),
}

impl Language {
    /// Reads a language from its name, a usual short form of it, or the extension of its files, in any case.
    pub fn read(name: &str) -> Self {
        let name = name.trim().trim_start_matches('.').to_lowercase();
        match &*name {
            "python" | "py" | "python3" | "py3" | "ipython" | "cpython" => Self::Python,
            "javascript" | "js" | "node" | "nodejs" | "node.js" | "mjs" | "cjs" | "jsx" | "ecmascript"
            | "es6" | "esm" | "deno" | "bun" => Self::JavaScript,
            "typescript" | "ts" | "tsx" | "mts" | "cts" => Self::TypeScript,
            "bash" | "sh" | "shell" | "zsh" | "ksh" | "dash" | "posix" | "shellscript" => Self::Bash,
            _ => Self::Other(name.into()),
        }
    }
}

mgp_types::write_as!(Display of Language, self => "{}", match self {
    Self::Python => "python",
    Self::JavaScript => "javascript",
    Self::TypeScript => "typescript",
    Self::Bash => "bash",
    Self::Other(name) => &**name,
});

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-7.3-04
    #[test]
    fn languages_are_known_by_their_usual_names() {
        for (name, language) in [
            ("python", Language::Python),
            (" PY3 ", Language::Python),
            ("node", Language::JavaScript),
            (".js", Language::JavaScript),
            ("tsx", Language::TypeScript),
            ("Shell", Language::Bash),
            ("Rust", Language::Other("rust".into())),
        ] {
            assert_eq!(Language::read(name), language, "{name}");
        }
    }
}
