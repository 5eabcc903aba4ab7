//! The security of a tool as guessed from its definition, where its server declares none (§8.2).

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::{CallEffect, EffectiveSecurity, Permission, RiskLevel, SideEffect, ValidatorName};
use mgp_types::{Object, words};
use serde::Serialize;

use super::lexicon::{NormalizedText, PHRASES, first_sentence, is_listed, list};
use super::nature::{ArgumentNature, ArgumentNatures, FileUse};
use crate::named::{Named as _, named};

/// The security profile of a tool, guessed from its definition where its server declares no security.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Profile {
    /// The permissions that calls of the tool need.
    pub permissions: Vec<Permission>,
    /// The risk of a call.
    pub risk: RiskLevel,
    /// The nature of each argument of which anything is known, by the name of the argument.
    pub arguments: BTreeMap<String, &'static str>,
}

impl Profile {
    /// Derives the profile of the tool that `definition` describes.
    pub fn of(definition: &Object) -> Self {
        let natures = ArgumentNatures::of(definition);
        let derived = derive(definition, &natures);
        let arguments = natures.known().into_iter().map(|(name, nature)| (name.to_owned(), nature.name()));
        Self { permissions: derived.permissions, risk: derived.risk, arguments: arguments.collect() }
    }
}

/// Returns the security that can be guessed (§8.2) for a definition without declared security, from its annotations,
/// name and schema.
///
/// A guess errs on the careful side: hints can raise the risk that the name suggests, and lower it only to that of a
/// tool that reads.
pub(super) fn derive(definition: &Object, natures: &ArgumentNatures) -> EffectiveSecurity {
    let (hints, name) = (hints(definition), words(&definition.text("name").unwrap_or_default()));
    let is_any = |heading: &str| name.iter().any(|word| is_listed(heading, word));
    let manner = match NameManner::of_tool(definition) {
        NameManner::Ends if is_any("thing that leaves nothing") => NameManner::Writes,
        manner => manner,
    };
    // The tool may change the power of others, or the content of a database.
    let is_hinted = hints.read_only_hint == Some(true);
    let changes_power = manner != NameManner::Reads && !is_hinted && is_any("powers");
    let says_it_reads = is_hinted || natures.says("sign of reads-only");
    let changes_rows = natures.has(ArgumentNature::Sql) && !says_it_reads;
    let risk = if changes_power || changes_rows { RiskLevel::Dangerous } else { risk_of(manner, &hints) };
    let mut derived = EffectiveSecurity::new(risk);
    let effect = effect_of(&name, &hints, manner, natures);
    derived.effect = Some(effect);
    let is_query = only_queries(natures) && effect == CallEffect::Reads;
    if is_query || effect_if_told_to_read(definition, natures).is_some() {
        derived.risk_of_reading = RiskLevel::Safe;
    }
    derived.reversible = hints.destructive_hint.map(|destructive| !destructive);
    add_meanings(&mut derived, natures.files, |nature| natures.has(nature));
    let of_permissions =
        derived.permissions.iter().map(risk_of_permission).fold(RiskLevel::Safe, RiskLevel::max);
    derived.risk = derived.risk.max(of_permissions);
    derived.risk_of_reading = derived.risk_of_reading.max(of_permissions);
    derived
}

/// Returns the effect of a call as far as the definition tells. What a statement for a database does depends on the call.
fn effect_of(
    name: &[String],
    hints: &ToolAnnotations,
    manner: NameManner,
    natures: &ArgumentNatures,
) -> CallEffect {
    let is_any = |heading: &str| name.iter().any(|word| is_listed(heading, word));
    let by_manner = match (manner, hints.destructive_hint) {
        (NameManner::Runs | NameManner::Unclear, _) if only_queries(natures) => CallEffect::Reads,
        (NameManner::Writes, Some(true)) if is_any("word of infrastructure") => CallEffect::Destroys,
        // A server knows whether what it ends can begin again.
        (NameManner::Ends, Some(false)) => CallEffect::Writes,
        (told, _) => told.effect(),
    };
    let gives_power = is_any("powers") && by_manner != CallEffect::Reads;
    let more = [gives_power.then_some(CallEffect::GivesAccess), runs(natures).then_some(CallEffect::Runs)];
    // A draft goes to nobody yet.
    let is_draft = manner == NameManner::Writes
        && name.iter().any(|word| word == "draft")
        && !is_any("draft that others see");
    let of_phrases = phrase_effects(name).filter(|effect| !is_draft || *effect != CallEffect::Sends);
    of_phrases.chain(more.into_iter().flatten()).fold(by_manner, CallEffect::max)
}

/// Returns the effect of a call whose arguments tell that it reads, as in `{"action":"list"}`; `None` if the name of the
/// tool tells what all calls do.
pub(crate) fn effect_if_told_to_read(definition: &Object, natures: &ArgumentNatures) -> Option<CallEffect> {
    let (hints, name) = (hints(definition), definition.text("name").unwrap_or_default());
    let is_told = NameManner::of(&name) == NameManner::Unclear;
    is_told.then(|| effect_of(&words(&name), &hints, NameManner::Reads, natures))
}

fn runs(natures: &ArgumentNatures) -> bool {
    natures.has(ArgumentNature::Command) || natures.has(ArgumentNature::Code)
}

/// Returns whether a tool takes statements of a language in which they tell themselves whether they read.
fn only_queries(natures: &ArgumentNatures) -> bool {
    let takes_query = || natures.declared().any(|name| is_listed("name of a query", name));
    let is_other = || natures.says("language of queries") && takes_query();
    !runs(natures) && (natures.has(ArgumentNature::Sql) || is_other())
}

/// Returns the effects that the phrases in a name tell.
pub(crate) fn phrase_effects(name: &[String]) -> impl Iterator<Item = CallEffect> {
    let firsts =
        name.iter().flat_map(|word| ENDINGS.into_iter().filter_map(|ending| word.strip_suffix(ending)));
    let possible = firsts.filter_map(|first| PHRASES_BY_WORD.get(first)).flatten();
    possible.filter(move |(_, phrase)| has_phrase(name, phrase)).map(|(effect, _)| *effect)
}

/// The phrases in names of tools with the effects that they tell, by their first words: a name has few of them.
static PHRASES_BY_WORD: LazyLock<HashMap<&str, Vec<(CallEffect, &str)>>> = LazyLock::new(|| {
    let mut by_word = HashMap::<_, Vec<_>>::new();
    for (effect, heading) in PHRASES {
        for phrase in list(heading) {
            by_word.entry(phrase.split(' ').next().unwrap_or(phrase)).or_default().push((*effect, phrase));
        }
    }
    by_word
});

/// Returns whether the words of a phrase stand in a name, in order and with at most one other word between two of them; or
/// with the verb behind, as in `snapshot_restore`.
fn has_phrase(name: &[String], phrase: &str) -> bool {
    let words: Vec<&str> = phrase.split(' ').collect();
    let is_turned = || {
        let (Some((verb, rest)), Some((last, before))) = (words.split_first(), name.split_last()) else {
            return false;
        };
        let is_only_verb = || before.iter().all(|word| NameManner::of_word(word).is_none());
        !rest.is_empty() && last == verb && is_only_verb() && has_words(before, rest)
    };
    has_words(name, &words) || is_turned()
}

fn has_words(name: &[String], words: &[&str]) -> bool {
    (0..name.len()).any(|start| {
        let mut at = start;
        words.iter().enumerate().all(|(index, word)| {
            let reach = if index == 0 { 1 } else { 2 };
            let found = name[at..].iter().take(reach).position(|name_word| is_form(name_word, word));
            at += found.map_or(0, |found| found + 1);
            found.is_some()
        })
    })
}

/// Returns whether a word of a name is one of a phrase, or another form of it, as in `files` and `forwarding`.
fn is_form(name_word: &str, word: &str) -> bool {
    name_word.strip_prefix(word).is_some_and(|ending| ENDINGS.contains(&ending))
}

/// The endings of other forms of a word in a name, and none.
const ENDINGS: [&str; 3] = ["", "s", "ing"];

/// Returns the annotations that the server gives the tool.
pub(crate) fn hints(definition: &Object) -> ToolAnnotations {
    definition.get("annotations").and_then(|raw| raw.to().ok()).unwrap_or_default()
}

fn risk_of(manner: NameManner, hints: &ToolAnnotations) -> RiskLevel {
    match (hints.read_only_hint, hints.destructive_hint, manner) {
        // A name that says so outweighs all hints. Many servers call every tool destructive, which is also the default, so
        // the name is the better evidence.
        (.., NameManner::Destroys | NameManner::Spends)
        | (_, Some(true), NameManner::Ends | NameManner::Runs | NameManner::Unclear)
        | (Some(false) | None, None, NameManner::Ends | NameManner::Runs) => RiskLevel::Dangerous,
        (Some(true), _, NameManner::Reads | NameManner::Unclear)
        | (None, None | Some(false), NameManner::Reads) => RiskLevel::Safe,
        _ => RiskLevel::Moderate,
    }
}

/// Returns the least risk of a tool that needs this permission. To permit writing files is dangerous, but that is
/// decided once for a server; the risk of a single call depends on the tool.
fn risk_of_permission(permission: &Permission) -> RiskLevel {
    if *permission == Permission::FilesystemWrite { RiskLevel::Moderate } else { permission.risk() }
}

/// Adds the permissions, side effects and validators that follow from `files` and from arguments of the natures that
/// `has` confirms.
pub(super) fn add_meanings(
    derived: &mut EffectiveSecurity,
    files: FileUse,
    has: impl Fn(ArgumentNature) -> bool,
) {
    for (nature, permission, effect, validator) in MEANINGS {
        if has(*nature) && !derived.permissions.contains(permission) {
            derived.permissions.push(permission.clone());
            derived.side_effects.push(effect.clone());
            derived.validators.extend(validator.clone());
        }
    }
    if files != FileUse::default() {
        derived.side_effects.push(SideEffect::Filesystem);
    }
    derived.permissions.extend(files.read.then_some(Permission::FilesystemRead));
    derived.permissions.extend(files.written.then_some(Permission::FilesystemWrite));
}

const MEANINGS: &[(ArgumentNature, Permission, SideEffect, Option<ValidatorName>)] = &[
    (ArgumentNature::Command, Permission::ShellExecute, SideEffect::Process, Some(ValidatorName::Sandbox)),
    (ArgumentNature::Code, Permission::CodeExecution, SideEffect::Process, Some(ValidatorName::CodeSafety)),
    (
        ArgumentNature::Url,
        Permission::NetworkOutbound,
        SideEffect::Network,
        Some(ValidatorName::NetworkRestricted),
    ),
    (ArgumentNature::Host, Permission::NetworkOutbound, SideEffect::Network, None),
];

named! {
    /// The manner of a tool, as its name tells, the worse one behind, by the heading of the words that tell it in
    /// `lexicon.txt`. The first telling word decides, with the last one where the first may be a thing, as in
    /// `comment_delete`; and of words that are joined, as in `read_then_delete`, the worst.
    #[derive(Default, PartialOrd, Ord)]
    pub(crate) enum NameManner {
        #[default]
        "" => Unclear,
        "verb that reads" => Reads,
        "verb that writes" => Writes,
        "verb that sends" => Sends,
        "verb that runs" => Runs,
        /// The tool ends what runs or is in force.
        "verb that ends" => Ends,
        "verb that destroys" => Destroys,
        "verb that spends" => Spends,
    }
}

impl NameManner {
    /// Returns the manner that the name of a tool tells.
    pub(crate) fn of(name: &str) -> Self {
        let words = words(name);
        let joined = words.split(|word| matches!(&**word, "and" | "or" | "then"));
        joined.filter_map(Self::of_words).max().unwrap_or(Self::Unclear)
    }

    fn of_words(words: &[String]) -> Option<Self> {
        if list("phrase of a tool that reads").any(|phrase| has_phrase(words, phrase)) {
            return words.last().and_then(|last| Self::of_word(last)).or(Some(Self::Reads));
        }
        let (first, manner) = words.iter().find_map(|word| Some((word, Self::of_word(word)?)))?;
        let tells_nothing = words.first().is_some_and(|word| is_listed("verb that tells nothing", word));
        if tells_nothing && manner <= Self::Writes {
            return None;
        }
        let is_noun = |word: &str| is_listed("verb that is also a noun", word);
        let last = words.last().filter(|last| is_noun(first) && (manner > Self::Reads || !is_noun(last)));
        Some(last.and_then(|last| Self::of_word(last)).map_or(manner, |last| manner.max(last)))
    }

    /// Returns the manner that the name of a tool tells, or else its description. What is made may also be sent or bought, as
    /// in `create_label`.
    pub(super) fn of_tool(definition: &Object) -> Self {
        let described = || Self::of_description(&definition.text("description").unwrap_or_default());
        let name = definition.text("name").unwrap_or_default();
        let makes = || words(&name).iter().any(|word| is_listed("verb that makes", word));
        match Self::of(&name) {
            Self::Unclear => described(),
            Self::Writes if makes() => match described() {
                manner @ (Self::Sends | Self::Spends) => manner,
                _ => Self::Writes,
            },
            manner => manner,
        }
    }

    /// Returns the worst manner of the verb that a description begins with and of those that stand beside it, as in `List, add or
    /// remove members`.
    fn of_description(text: &str) -> Self {
        let sentence = first_sentence(text).replace([',', ';', '/'], " and ").replace(" or ", " and ");
        let verbs = sentence.split(" and ").enumerate().filter_map(|(at, part)| {
            let part = NormalizedText::of(part);
            let mut words = part.words().skip_while(|word| is_listed("word before a verb", word));
            let verb = words.next()?;
            // A thing may be called as a verb is, as in `Get users, teams and posts`.
            let mut has_object = || words.next().is_some_and(|next| !is_listed("word behind a thing", next));
            let is_verb =
                || !is_listed("verb that is also a noun", verb) && Self::of_word(verb) >= Some(Self::Ends);
            if at == 0 || has_object() || is_verb() { Self::of_verb(verb) } else { None }
        });
        verbs.max().unwrap_or(Self::Unclear)
    }

    /// Returns the effect of calls of a tool of this manner, as far as its name alone tells.
    pub(crate) const fn effect(self) -> CallEffect {
        match self {
            Self::Unclear => CallEffect::Unknown,
            Self::Reads => CallEffect::Reads,
            Self::Writes => CallEffect::Writes,
            Self::Sends => CallEffect::Sends,
            Self::Runs => CallEffect::Runs,
            Self::Ends | Self::Destroys => CallEffect::Destroys,
            Self::Spends => CallEffect::Spends,
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        // No word tells that the manner is unclear.
        Self::NAMES[1..].iter().find(|(verbs, _)| is_listed(verbs, word)).map(|(_, manner)| *manner)
    }

    /// Returns the manner of a verb in any of its forms: `delete`, `deletes`, `deleting`.
    fn of_verb(word: &str) -> Option<Self> {
        stems(word).find_map(|stem| Self::of_word(&stem))
    }
}

/// Returns what a verb may be a form of: `stop` for `stops`, `stopping` and `stopped`.
pub(crate) fn stems(word: &str) -> impl Iterator<Item = String> {
    let stems = ["", "s", "es", "ing", "ed"].into_iter().filter_map(|ending| word.strip_suffix(ending));
    stems.flat_map(|stem| {
        let mut letters = stem.chars();
        let last = letters.next_back();
        let is_doubled = last.is_some() && letters.clone().next_back() == last;
        let single = if is_doubled { letters.as_str() } else { stem };
        [stem.to_owned(), format!("{stem}e"), single.to_owned()]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(definition: &str) -> EffectiveSecurity {
        let definition = Object::parse(definition.to_owned()).unwrap();
        derive(&definition, &ArgumentNatures::of(&definition))
    }

    #[test]
    fn names_and_annotations_give_the_risk() {
        for (definition, risk) in [
            (r#"{"name":"get_weather"}"#, RiskLevel::Safe),
            (r#"{"name":"create_issue"}"#, RiskLevel::Moderate),
            (r#"{"name":"delete_file"}"#, RiskLevel::Dangerous),
            (r#"{"name":"executeCommand"}"#, RiskLevel::Dangerous),
            (r#"{"name":"frobnicate"}"#, RiskLevel::Moderate),
            (r#"{"name":"frobnicate","annotations":{"readOnlyHint":true}}"#, RiskLevel::Safe),
            (r#"{"name":"delete_file","annotations":{"readOnlyHint":true}}"#, RiskLevel::Dangerous),
            (r#"{"name":"stop_search","annotations":{"destructiveHint":false}}"#, RiskLevel::Moderate),
            (r#"{"name":"get_weather","annotations":{"readOnlyHint":false}}"#, RiskLevel::Moderate),
            (r#"{"name":"get_weather","annotations":{"destructiveHint":true}}"#, RiskLevel::Moderate),
            (r#"{"name":"set_page_restrictions"}"#, RiskLevel::Dangerous),
            (r#"{"name":"hdel","description":"Deletes a field of a hash."}"#, RiskLevel::Dangerous),
            (r#"{"name":"delete_draft","annotations":{"destructiveHint":false}}"#, RiskLevel::Dangerous),
            (r#"{"name":"transfer_money","annotations":{"readOnlyHint":true}}"#, RiskLevel::Dangerous),
        ] {
            assert_eq!(derived(definition).risk, risk, "{definition}");
        }
    }

    #[test]
    fn a_description_tells_what_a_name_does_not() {
        for (name, description, effect) in [
            ("members", "List, add or remove members of a team.", CallEffect::Destroys),
            ("members", "Gets users, teams, and posts of a team.", CallEffect::Reads),
            ("create_label", "Buys postage for a parcel.", CallEffect::Spends),
            ("create_page", "Creates a page, deletes nothing.", CallEffect::Writes),
            ("update_page", "Publishes a page.", CallEffect::Writes),
        ] {
            let definition = format!(r#"{{"name":"{name}","description":"{description}"}}"#);
            assert_eq!(derived(&definition).effect, Some(effect), "{definition}");
        }
    }

    #[test]
    fn arguments_give_permissions_effects_and_validators() {
        let shell = derived(r#"{"name":"run","inputSchema":{"properties":{"command":{"type":"string"}}}}"#);
        assert_eq!(shell.permissions, [Permission::ShellExecute]);
        assert_eq!(shell.validators, [ValidatorName::Sandbox]);
        assert_eq!(shell.side_effects, [SideEffect::Process]);
        let read = derived(r#"{"name":"read_file","inputSchema":{"properties":{"path":{"type":"string"}}}}"#);
        assert_eq!(read.permissions, [Permission::FilesystemRead]);
        let write =
            derived(r#"{"name":"write_file","inputSchema":{"properties":{"path":{"type":"string"}}}}"#);
        assert_eq!(write.permissions, [Permission::FilesystemWrite]);
    }
}
