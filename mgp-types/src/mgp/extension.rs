//! The extensions of MGP (§2.2): their names, the features behind them, and sets of them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::macros::words::open_words;

open_words! {
    /// A name in the list of extensions that a side offers (§2.2).
    ///
    /// Some names stand for several features: later drafts split `security` and `bidirectional`, and took progress
    /// out of `streaming`. [`ExtensionSet`] knows which names mean the same.
    pub enum Extension {
        /// `security`: permission declarations and tool security metadata (§3, §4).
        Security = "security",
        /// `access_control`: which agent may call which tool (§5).
        AccessControl = "access_control",
        /// `audit`: the audit trail (§6).
        Audit = "audit",
        /// `code_safety`: checks on code before it runs (§7).
        CodeSafety = "code_safety",
        /// `lifecycle`: health checks, graceful shutdown, server states (§11).
        Lifecycle = "lifecycle",
        /// `streaming`: streamed results, progress, cancellation (§12).
        Streaming = "streaming",
        /// `bidirectional`: server notifications, event subscriptions, callbacks (§13).
        Bidirectional = "bidirectional",
        /// `discovery`: advertisement, registration, deregistration (§15).
        Discovery = "discovery",
        /// `tool_discovery`: tool search, active requests, the session's tools (§16).
        ToolDiscovery = "tool_discovery",
        /// `permissions`: the half of `security` that is §3, in later drafts.
        Permissions = "permissions",
        /// `tool_security`: the half of `security` that is §4, in later drafts.
        ToolSecurity = "tool_security",
        /// `callbacks`: the half of `bidirectional` that is §13.4, in later drafts.
        Callbacks = "callbacks",
        /// `events`: the half of `bidirectional` that is §13.2 and §13.3, in later drafts.
        Events = "events",
        /// `progress`: the part of `streaming` that is §12.6, in later drafts.
        Progress = "progress",
        /// `error_handling`: §14, which has no name in the specification and is always on.
        ErrorHandling = "error_handling",
        /// `delegation`: calls on behalf of another agent, only in later drafts.
        Delegation = "delegation",
    }
}

impl Extension {
    /// The names that the specification defines, in its order.
    pub const STANDARD: &'static [Self] = Self::KNOWN.split_at(9).0;

    /// Returns the features that the name stands for; none for an unknown name.
    fn features(&self) -> u16 {
        match self {
            Self::Streaming => self.core() | Self::Progress.bit(),
            other => other.core(),
        }
    }

    /// Returns the core features of the name. The name is agreed on if the other side has at least one of them.
    ///
    /// One half of `security` suffices: answering nothing would leave both sides without a permission gate. Progress
    /// alone does not make a stream.
    fn core(&self) -> u16 {
        match self {
            Self::Security => Self::Permissions.bit() | Self::ToolSecurity.bit(),
            Self::Bidirectional => Self::Callbacks.bit() | Self::Events.bit(),
            other => other.bit(),
        }
    }

    /// Returns the bit of the name among [`KNOWN`](Self::KNOWN); for a name that is not split, also that of its feature.
    fn bit(&self) -> u16 {
        Self::KNOWN.iter().position(|known| known == self).map_or(0, |index| 1 << index)
    }
}

/// A set of extensions: the names as one side spells them, and the features they stand for.
///
/// Asking for a known extension is a comparison of bits.
///
/// ```
/// use mgp_types::mgp::{Extension, ExtensionSet};
///
/// let ours = ExtensionSet::from([Extension::Security, Extension::Streaming]);
/// let theirs = ExtensionSet::from_names(["permissions", "progress", "audit"]);
/// let both = ours.intersection(&theirs);
/// assert_eq!(both.names().collect::<Vec<_>>(), ["permissions", "progress"]);
/// assert!(both.contains(&Extension::Permissions) && !both.contains(&Extension::Security));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtensionSet {
    /// The names in the list, one bit for each of [`Extension::KNOWN`].
    spelled: u16,
    features: u16,
    unknown: BTreeSet<Box<str>>,
}

impl ExtensionSet {
    /// Creates a set without extensions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns all extensions that the specification defines.
    pub fn standard() -> Self {
        Extension::STANDARD.iter().cloned().collect()
    }

    /// Returns the extensions with these names, as they come from a peer or a file. A misspelled name becomes
    /// [`Extension::Unknown`] without complaint; code therefore names extensions by type:
    /// `ExtensionSet::from([Extension::Audit])`.
    pub fn from_names<I: IntoIterator<Item: AsRef<str>>>(names: I) -> Self {
        names.into_iter().map(|name| Extension::from(name.as_ref())).collect()
    }

    /// Adds an extension.
    pub fn insert(&mut self, extension: Extension) {
        self.features |= extension.features();
        self.spelled |= extension.bit();
        if let Extension::Unknown(name) = extension {
            self.unknown.insert(name);
        }
    }

    /// Returns whether the set has everything that `extension` stands for, under whatever name.
    pub fn contains(&self, extension: &Extension) -> bool {
        match extension {
            Extension::Unknown(name) => self.unknown.contains(name),
            known => self.features & known.features() == known.features(),
        }
    }

    /// Returns the extensions that both sides have, in the names of `theirs` only.
    ///
    /// A name of `theirs` stays when this set has a feature that the name stands for. Features that only one side has
    /// are not in the result, even if the name would include them. Error handling has no name in the specification and
    /// belongs to every set.
    //= mgp §2.4
    //# The active extension set is the intersection of client and server extensions
    pub fn intersection(&self, theirs: &Self) -> Self {
        let ours = self.features | Extension::ErrorHandling.bit();
        let mut both: Self = theirs.known().filter(|known| ours & known.core() != 0).cloned().collect();
        both.features &= ours & theirs.features;
        both.unknown = self.unknown.intersection(&theirs.unknown).cloned().collect();
        both
    }

    /// Returns the names: known ones in the order of [`Extension`], then the others in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known().map(Extension::as_str).chain(self.unknown.iter().map(|name| &**name))
    }

    fn known(&self) -> impl Iterator<Item = &Extension> {
        Extension::KNOWN.iter().filter(|known| self.spelled & known.bit() != 0)
    }

    /// Returns whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.spelled == 0 && self.unknown.is_empty()
    }
}

impl FromIterator<Extension> for ExtensionSet {
    fn from_iter<I: IntoIterator<Item = Extension>>(extensions: I) -> Self {
        let mut set = Self::new();
        extensions.into_iter().for_each(|extension| set.insert(extension));
        set
    }
}

impl<const N: usize> From<[Extension; N]> for ExtensionSet {
    fn from(extensions: [Extension; N]) -> Self {
        extensions.into_iter().collect()
    }
}

crate::convert!(Extension => ExtensionSet, extension => Self::from([extension]));

impl Serialize for ExtensionSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

impl<'de> Deserialize<'de> for ExtensionSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Cow<'_, str>>::deserialize(deserializer).map(Self::from_names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> ExtensionSet {
        ExtensionSet::from_names(names)
    }

    fn names(set: &ExtensionSet) -> Vec<&str> {
        set.names().collect()
    }

    // covers: MGP-2.2-06..14
    #[test]
    fn the_nine_standard_extensions_have_their_names() {
        let standard = [
            "security", "access_control", "audit", "code_safety", "lifecycle", "streaming", "bidirectional",
            "discovery", "tool_discovery",
        ];
        assert_eq!(names(&ExtensionSet::standard()), standard);
        for (extension, name) in Extension::STANDARD.iter().zip(standard) {
            assert_eq!(Extension::from(name), *extension);
            assert!(ExtensionSet::standard().contains(extension), "{name}");
        }
    }

    #[test]
    fn a_set_of_types_is_that_of_their_names() {
        let typed = ExtensionSet::from([Extension::Streaming, Extension::Audit]);
        assert_eq!(typed, set(&["audit", "streaming"]));
        assert_eq!(ExtensionSet::from(Extension::Audit), set(&["audit"]));
    }

    #[test]
    fn every_name_is_read_as_it_is_written() {
        let later = [
            "permissions", "tool_security", "callbacks", "events", "progress", "error_handling", "delegation",
        ];
        for name in later {
            assert!(!matches!(Extension::from(name), Extension::Unknown(_)), "{name}");
        }
        for known in Extension::KNOWN {
            assert_eq!(Extension::from(known.as_str()), *known);
        }
        assert_eq!(Extension::from("Security"), Extension::Unknown("Security".into()));
        assert_eq!(Extension::from("com.example/x").to_string(), "com.example/x");
    }

    #[test]
    fn split_names_mean_what_the_whole_means() {
        for (whole, halves) in [
            (Extension::Security, ["permissions", "tool_security"]),
            (Extension::Bidirectional, ["callbacks", "events"]),
        ] {
            let split = set(&halves);
            assert!(split.contains(&whole));
            assert!(!set(&halves[..1]).contains(&whole));
            assert_eq!(names(&set(&[whole.as_str()]).intersection(&split)), halves);
            assert_eq!(names(&split.intersection(&set(&[whole.as_str()]))), [whole.as_str()]);
        }
    }

    #[test]
    fn streaming_includes_progress_and_not_the_reverse() {
        let (streaming, progress) = (set(&["streaming"]), set(&["progress"]));
        assert!(streaming.contains(&Extension::Progress));
        assert!(!progress.contains(&Extension::Streaming));
        assert_eq!(streaming.intersection(&progress), progress);
        assert!(progress.intersection(&streaming).is_empty());
        assert!(!progress.intersection(&streaming).contains(&Extension::Progress));
    }

    #[test]
    fn half_of_a_whole_is_agreed_under_the_others_name_without_the_missing_half() {
        let both = set(&["permissions"]).intersection(&set(&["security"]));
        assert_eq!(names(&both), ["security"]);
        assert!(both.contains(&Extension::Permissions));
        assert!(!both.contains(&Extension::ToolSecurity) && !both.contains(&Extension::Security));
    }

    #[test]
    fn unknown_names_are_kept_and_intersect_by_spelling() {
        let theirs = set(&["x.b", "audit", "x.a", "x.b"]);
        assert_eq!(names(&theirs), ["audit", "x.a", "x.b"]);
        let both = set(&["x.b", "x.c"]).intersection(&theirs);
        assert_eq!(names(&both), ["x.b"]);
        assert!(both.contains(&Extension::from("x.b")) && !both.contains(&Extension::from("x.a")));
    }

    #[test]
    fn a_set_is_written_as_a_list_of_names() {
        let json = r#"["audit","x"]"#;
        let read: ExtensionSet = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        assert!(serde_json::from_str::<ExtensionSet>(r#"["audit",1]"#).is_err());
    }

    fn any_set() -> impl proptest::strategy::Strategy<Value = ExtensionSet> {
        use proptest::strategy::Strategy;
        proptest::collection::vec("(x|y|z)", 0..3).prop_flat_map(|unknown| {
            proptest::sample::subsequence(Extension::KNOWN.to_vec(), 0..=Extension::KNOWN.len()).prop_map(
                move |known| {
                    let unknown = unknown.iter().map(|name| Extension::from(&**name));
                    known.into_iter().chain(unknown).collect()
                },
            )
        })
    }

    proptest::proptest! {
        // covers: MGP-2.4-01
        #[test]
        fn the_intersection_holds_what_both_have_in_the_names_of_one(ours in any_set(), theirs in any_set()) {
            let both = ours.intersection(&theirs);
            for name in both.names() {
                proptest::prop_assert!(theirs.names().any(|theirs| theirs == name), "{name}");
            }
            for known in Extension::KNOWN.iter().filter(|known| both.contains(known)) {
                proptest::prop_assert!(theirs.contains(known), "{known}");
                proptest::prop_assert!(ours.contains(known) || *known == Extension::ErrorHandling, "{known}");
            }
            // The other side intersects the answer again and finds the same features.
            let others = !Extension::ErrorHandling.bit();
            proptest::prop_assert_eq!(theirs.intersection(&both).features & others, both.features & others);
        }
    }
}
