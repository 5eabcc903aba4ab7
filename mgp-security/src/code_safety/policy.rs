//! The policy that code is checked against.

use std::collections::{BTreeSet, HashSet};

use mgp_types::mgp::{CodeHints, CodeSafety, SafetyLevel};

use super::{Language, NAMES, Pattern};

/// The rules for what code may do: a declaration (§7.3), together with what is always dangerous in its language.
///
/// Blocked imports and patterns add to those that are always blocked, and block wins over allow. A declared list of
/// allowed imports replaces the default list; it is enforced from strict on and is a hint below.
#[derive(Debug, Clone)]
pub struct CodePolicy {
    pub(super) level: SafetyLevel,
    pub(super) language: Language,
    declared_blocked: HashSet<Box<str>>,
    /// The declared list of allowed modules; `None` if the list of the language counts, and with it modules that the code
    /// brings along.
    declared_allowed: Option<HashSet<Box<str>>>,
    /// The modules that lie beside the code and are checked like it.
    beside: BTreeSet<Box<str>>,
    pub(super) patterns: Box<[Pattern]>,
    /// The hints that a rejection contains.
    pub(super) hints: CodeHints,
}

impl CodePolicy {
    /// Returns the policy that `declaration` asks for.
    ///
    /// Where the operator has configured a declaration and the server declares another, pass the one that
    /// [`CodeSafety::confine`] makes of them.
    pub fn new(declaration: &CodeSafety) -> Self {
        let language =
            declaration.language.as_deref().map_or_else(|| Language::Other("".into()), Language::read);
        let level = declaration.level;
        let usual_max_bytes = (level >= SafetyLevel::Strict).then_some(DEFAULT_MAX_BYTES);
        let max_bytes = declaration.max_code_size_bytes.or(usual_max_bytes);
        let declared_blocked = module_list(&declaration.blocked_imports);
        let declared_allowed = declaration.allowed_imports.as_deref().map(module_list);
        // A thousand names of built-in lists would fill the context of a model, and tell it no more than the violations.
        let hints = CodeHints {
            blocked_imports: declaration.blocked_imports.iter().map(|name| plain(name).into()).collect(),
            allowed_imports: declaration.allowed_imports.clone().unwrap_or_default(),
            max_code_size_bytes: max_bytes,
        };
        let patterns = declaration.blocked_patterns.iter().map(|text| Pattern::new(text)).collect();
        Self { level, language, declared_blocked, declared_allowed, beside: BTreeSet::new(), patterns, hints }
    }

    mgp_types::setters! { #[must_use] self =>
        /// Allows modules of these names, unless they are blocked: they lie beside the code, and the caller has to check
        /// them, too.
        pub fn with_modules_beside(names: impl IntoIterator<Item = impl Into<Box<str>>>) =>
            self.beside.extend(names.into_iter().map(Into::into));
    }

    /// Returns the largest number of bytes of code that is accepted; `None` without a limit.
    pub(super) fn max_code_size_bytes(&self) -> Option<u64> {
        (self.level > SafetyLevel::Unrestricted).then_some(self.hints.max_code_size_bytes).flatten()
    }

    /// Returns whether the module must not be imported.
    pub(super) fn refuses_import(&self, module: &str) -> bool {
        let root = module.split('.').next().unwrap_or(module);
        let is_allowed = || match &self.declared_allowed {
            Some(allowed) => covers(module, |name| allowed.contains(name)),
            None => self.is_listed("allowed", module),
        };
        self.blocks_import(module)
            || self.level >= SafetyLevel::Strict && !is_allowed() && !self.beside.contains(root)
    }

    /// Returns whether the module is blocked by name, at any level.
    pub(super) fn blocks_import(&self, module: &str) -> bool {
        covers(module, |name| self.declared_blocked.contains(name)) || self.is_listed("blocked", module)
    }

    /// Returns whether the list of the language has the module.
    fn is_listed(&self, list: &str, module: &str) -> bool {
        let language = match self.language {
            Language::Python => "python",
            Language::JavaScript | Language::TypeScript => "javascript",
            Language::Bash | Language::Other(_) => return false,
        };
        covers(module, |name| NAMES.has(&format!("{language} {list}"), name))
    }
}

/// Returns a list of module names, each standing for everything that it [`covers`].
fn module_list(names: &[Box<str>]) -> HashSet<Box<str>> {
    names.iter().map(|name| plain(name).into()).collect()
}

/// Returns whether `is_listed` is true of `module` or of something that it lies below: of `os` for `os.path`, of `fs` for
/// `fs/promises`.
fn covers(module: &str, is_listed: impl Fn(&str) -> bool) -> bool {
    let module = plain(module);
    let mut ends = module.match_indices(['.', '/']).map(|(at, _)| at).chain([module.len()]);
    ends.any(|end| is_listed(&module[..end]))
}

/// Returns the name of a module without Node's scheme: Node accepts its own modules with and without it.
fn plain(module: &str) -> &str {
    module.trim().trim_start_matches("node:")
}

/// The size limit of strict and readonly in bytes if a declaration has none: more than people write into one file.
const DEFAULT_MAX_BYTES: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(json: &str) -> CodePolicy {
        CodePolicy::new(&serde_json::from_str(json).unwrap())
    }

    // covers: MGP-7.3-06, MGP-7.3-08
    #[test]
    fn block_wins_over_allow_and_allow_is_a_hint_below_strict() {
        let strict = policy(
            r#"{"level":"strict","language":"python","blocked_imports":["json"],"allowed_imports":["json","re","socket"]}"#,
        );
        assert!(strict.refuses_import("json") && strict.refuses_import("json.decoder"));
        assert!(strict.refuses_import("socket"));
        assert!(!strict.refuses_import("re") && strict.refuses_import("math"));
        let standard = policy(r#"{"level":"standard","language":"python","allowed_imports":["re"]}"#);
        assert!(!standard.refuses_import("math"));
        assert_eq!(standard.hints.allowed_imports, ["re".into()]);
    }

    #[test]
    fn hints_are_the_declared_names_and_no_built_in_list() {
        let strict = policy(r#"{"level":"strict","language":"python","blocked_imports":["ssl"]}"#);
        assert!(strict.refuses_import("socket") && !strict.refuses_import("json"));
        let hints = serde_json::to_value(&strict.hints).unwrap();
        assert_eq!(hints, serde_json::json!({"blocked_imports": ["ssl"], "max_code_size_bytes": 100_000}));
    }

    // covers: MGP-7.3-05
    #[test]
    fn a_limit_holds_when_declared_and_always_from_strict_on() {
        let limit = |json| policy(json).max_code_size_bytes();
        assert_eq!(limit(r#"{"level":"standard"}"#), None);
        assert_eq!(limit(r#"{"level":"standard","max_code_size_bytes":5}"#), Some(5));
        assert_eq!(limit(r#"{"level":"strict"}"#), Some(100_000));
        assert_eq!(limit(r#"{"level":"readonly","max_code_size_bytes":50000}"#), Some(50_000));
        assert_eq!(limit(r#"{"level":"unrestricted","max_code_size_bytes":5}"#), None);
    }

    #[test]
    fn a_name_stands_for_what_is_below_it_and_not_for_longer_names() {
        let list = module_list(&["code", "fs", "@scope/kit", "urllib.request"].map(Box::<str>::from));
        let has = |module: &str| covers(module, |name| list.contains(name));
        for module in ["code", "code.interact", "node:fs", "fs/promises", "@scope/kit/x.js", "urllib.request"]
        {
            assert!(has(module), "{module}");
        }
        for module in ["codecs", "encode", "@scope/other", "urllib", "urllib.parse", ""] {
            assert!(!has(module), "{module}");
        }
    }
}
