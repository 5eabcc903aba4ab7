//! The nature of tool arguments: paths, addresses, commands, code, or text that needs no check.

use std::collections::{BTreeMap, HashMap};

use mgp_types::{Object, words};

use super::derive::{NameManner, hints};
use super::lexicon::{HEADS, NormalizedText, OPENINGS, first_sentence, is_listed, list};
use super::schema::{SchemaArgument, arguments, is_destination};
use crate::named::{Named as _, named};

named! {
    /// The nature of an argument, as its schema, its name and its description tell, by its name in the profiles of tools; it
    /// decides what the argument is checked for.
    #[derive(PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum ArgumentNature {
        /// Text for people or models, which nothing executes.
        "text" => Text,
        /// An argument of which nothing is known.
        "unknown" => Unknown,
        /// A URL that the tool keeps or compares, as far as is known, and does not visit.
        "url" => Link,
        /// The method of an HTTP request.
        "http_method" => HttpMethod,
        /// A path in a file system of the server's machine.
        "path" => Path,
        /// The name or address of a host.
        "host" => Host,
        /// A URL that is visited.
        "url" => Url,
        /// A statement for a database.
        "sql" => Sql,
        /// Code of any language, which is executed.
        "code" => Code,
        /// A command for a shell, or a part of one.
        "command" => Command,
    }
}

/// The natures of the arguments of one tool, by the names of their members.
#[derive(Debug, Clone, Default)]
pub struct ArgumentNatures {
    by_name: HashMap<Box<str>, ArgumentNature, foldhash::fast::RandomState>,
    /// The use that the tool makes of the files that its arguments name.
    pub(super) files: FileUse,
    /// The schemes without a host that the definition offers for a URL.
    inner_schemes: Vec<&'static str>,
    subject: ToolSubject,
}

/// The use that a tool makes of the files that its caller names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FileUse {
    pub(super) read: bool,
    pub(super) written: bool,
}

impl ArgumentNatures {
    /// Returns the natures of the arguments of the tool that `definition` describes.
    pub fn of(definition: &Object) -> Self {
        let arguments = arguments(definition);
        let subject = ToolSubject::of(definition, &arguments);
        let mut natures = Self { subject, ..Self::default() };
        for argument in &arguments {
            let nature = natures.subject.nature(argument);
            // If two members have the same name, the nature that needs more care counts.
            let known = natures.by_name.entry(argument.name.clone()).or_insert(nature);
            *known = nature.max(*known);
        }
        natures.files = natures.subject.files(&arguments, natures.has(ArgumentNature::Command));
        if natures.has(ArgumentNature::Url) {
            natures.inner_schemes =
                INNER_SCHEMES.into_iter().filter(|scheme| takes_scheme(definition, scheme)).collect();
            natures.files.read |= natures.takes("file");
        }
        natures
    }

    /// Returns the nature of the argument in the member called `name`; one that the schema does not declare is judged
    /// by its name.
    pub fn nature(&self, name: &str) -> ArgumentNature {
        let named = || SchemaArgument { name: name.into(), takes_text: true, ..SchemaArgument::default() };
        self.by_name.get(name).copied().unwrap_or_else(|| self.subject.nature(&named()))
    }

    /// Returns whether any argument of the schema has this nature.
    pub fn has(&self, nature: ArgumentNature) -> bool {
        self.by_name.values().any(|known| *known == nature)
    }

    /// Returns the names of the arguments of the schema.
    pub(crate) fn declared(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(|name| &**name)
    }

    /// Returns the declared arguments of which anything is known.
    pub fn known(&self) -> BTreeMap<&str, ArgumentNature> {
        let known = self.by_name.iter().filter(|(_, nature)| **nature != ArgumentNature::Unknown);
        known.map(|(name, nature)| (&**name, *nature)).collect()
    }

    /// Returns whether the definition says that a URL may have `scheme`, which is one without a host.
    pub(crate) fn takes(&self, scheme: &str) -> bool {
        self.inner_schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme))
    }

    /// Returns whether the name or the first sentence of the description has a phrase of a list.
    pub(super) fn says(&self, sign: &str) -> bool {
        self.subject.purpose.says(sign)
    }
}

/// The schemes of URLs that a tool follows without a host: a file of its machine, and the content of the URL itself.
const INNER_SCHEMES: [&str; 2] = ["file", "data"];

/// Returns whether the definition names `scheme` as one of URLs, rather than the word before a colon.
fn takes_scheme(definition: &Object, scheme: &str) -> bool {
    let text = String::from_utf8_lossy(definition.to_raw().as_bytes()).to_lowercase();
    let speaks_of_urls = || ["http", "uri", "url"].iter().any(|word| text.contains(word));
    let mut found = text.match_indices(scheme).filter(|(at, _)| {
        let is_whole = !text[..*at].ends_with(char::is_alphanumeric);
        is_whole && text[at + scheme.len()..].starts_with(':')
    });
    // In JSON, a colon behind a quote ends the name of a member, which is none of a scheme.
    found.any(|(at, _)| text[at..].starts_with(&format!("{scheme}://")) || speaks_of_urls())
}

/// The subject of a tool, as its name, its description and the names of its arguments tell.
#[derive(Debug, Clone, Default)]
struct ToolSubject {
    name: NormalizedText,
    /// The name and the first sentence of the description.
    purpose: NormalizedText,
    manner: NameManner,
    /// True if the tool works on objects that a vendor or another machine keeps.
    is_remote: bool,
    /// True if the name of an argument is that of a command.
    takes_command: bool,
}

impl ToolSubject {
    fn of(definition: &Object, arguments: &[SchemaArgument]) -> Self {
        let description = definition.text("description").unwrap_or_default();
        let name = words(&definition.text("name").unwrap_or_default());
        let with_name = |text: &str| {
            let mut prose = NormalizedText::of(text);
            prose.push(&name);
            prose
        };
        let whole = with_name(&description);
        let beside = |argument: &SchemaArgument| is_listed("remote-beside", &words(&argument.name).join(" "));
        let purpose = with_name(first_sentence(&description));
        let is_remote = purpose.says("sign of remote")
            || (!whole.says("sign of local")
                && (whole.says("sign of remote") || arguments.iter().any(beside)));
        Self {
            name: with_name(""),
            purpose,
            is_remote,
            takes_command: arguments
                .iter()
                .any(|it| it.takes_text && head(&parts(&it.name)) == ArgumentNature::Command),
            manner: match (hints(definition).read_only_hint, NameManner::of_tool(definition)) {
                (Some(true), _) => NameManner::Reads,
                (Some(false), NameManner::Reads) => NameManner::Unclear,
                (_, manner) => manner,
            },
        }
    }

    /// Returns the nature of `argument`.
    fn nature(&self, argument: &SchemaArgument) -> ArgumentNature {
        if !argument.takes_text {
            return ArgumentNature::Unknown;
        }
        let words = parts(&argument.name);
        let text = argument.text(&words);
        let named = self.by_name(argument, &words, &text);
        // The server writes the schema, so the schema can add to the nature that the name suggests and take nothing
        // away.
        let claimed = named.max(argument.declared.unwrap_or(ArgumentNature::Text));
        let is_so = match claimed {
            ArgumentNature::Path => self.is_local(&text),
            ArgumentNature::Url if !self.is_visited(argument, &text) => return ArgumentNature::Link,
            ArgumentNature::Host => !text.says("sign of filter"),
            ArgumentNature::Code => self.is_run(&text),
            _ => true,
        };
        if is_so { claimed } else { ArgumentNature::Unknown }
    }

    fn by_name(&self, argument: &SchemaArgument, words: &[String], text: &NormalizedText) -> ArgumentNature {
        let Some((last, before)) = words.split_last() else { return ArgumentNature::Unknown };
        if argument.is_copied && (is_destination(&argument.name) || *words == ["source"]) {
            // An argument beside a destination is a source of files, not of a program.
            return ArgumentNature::Path;
        }
        if is_listed("selecting", &words[0]) && !before.is_empty() {
            return ArgumentNature::Unknown;
        }
        let is_url = words.iter().any(|word| matches!(&**word, "url" | "uri"));
        let last_two = before.last().map(|word| format!("{word} {last}"));
        let natures = [last_two.as_deref(), Some(last)].into_iter().flatten().flat_map(|head| {
            let of_head = HEADS.iter().filter(move |(_, _, heads)| is_listed(heads, head));
            of_head.filter(|(_, sign, _)| sign.is_none_or(|sign| self.has_sign(sign, text)))
        });
        let mut natures = natures.map(|(nature, ..)| *nature).filter(|nature| {
            *nature != ArgumentNature::Code || before.iter().all(|word| is_listed("code-qualifiers", word))
        });
        match natures.next() {
            Some(ArgumentNature::HttpMethod) if before.iter().any(|word| word != "http") => {
                ArgumentNature::Unknown
            }
            Some(ArgumentNature::Path | ArgumentNature::Text) if is_url => ArgumentNature::Url,
            Some(nature) => nature,
            None if is_listed("about", last) => ArgumentNature::Unknown,
            None if is_url => ArgumentNature::Url,
            None => opening(&argument.description),
        }
    }

    /// Returns whether the text or the subject of the tool has the sign that confirms an ambiguous name.
    fn has_sign(&self, sign: &str, text: &NormalizedText) -> bool {
        let either_says = |sign: &str| text.says(sign) || self.purpose.says(sign);
        match sign {
            "sign of language" => either_says(sign),
            "sign of sql" => {
                text.says(sign) || (!either_says("sign of other-query") && self.purpose.says(sign))
            }
            "sign of terminal" => {
                self.name.says(sign) && self.manner != NameManner::Reads && !self.takes_command
            }
            _ => text.says(sign),
        }
    }

    /// Returns whether a path leads to a file of the server's machine.
    fn is_local(&self, text: &NormalizedText) -> bool {
        let is_elsewhere = || self.is_remote || text.says("sign of remote") || text.says("sign of filter");
        !text.says("sign of selector") && (text.says("sign of local") || !is_elsewhere())
    }

    /// Returns whether an address is visited; others are only stored, in a link or in a report.
    fn is_visited(&self, argument: &SchemaArgument, text: &NormalizedText) -> bool {
        if text.says("sign of filter") {
            return false;
        }
        let is_kept = matches!(self.manner, NameManner::Writes | NameManner::Sends)
            || self.is_remote
            || argument.is_in_list;
        let of_argument = NormalizedText::of(&argument.description);
        !is_kept || of_argument.says("sign of reached") || self.purpose.says("sign of reached")
    }

    /// Returns whether code is executed, or might be.
    fn is_run(&self, text: &NormalizedText) -> bool {
        let runs = text.says("sign of runs") || self.purpose.says("sign of runs");
        !text.says("sign of plain-code")
            && (runs || !matches!(self.manner, NameManner::Reads | NameManner::Writes | NameManner::Sends))
    }

    /// Returns the use that the tool makes of the files that `arguments` name. A folder beside a command only says
    /// where the command runs.
    fn files(&self, arguments: &[SchemaArgument], has_command: bool) -> FileUse {
        let mut files = FileUse::default();
        let paths: Vec<&SchemaArgument> =
            arguments.iter().filter(|it| self.nature(it) == ArgumentNature::Path).collect();
        for path in &paths {
            let words = parts(&path.name);
            if has_command && words.last().is_some_and(|last| is_listed("places", last)) {
                continue;
            }
            let is_written = self.writes(path, &words, paths.len() > 1);
            files.written |= is_written;
            files.read |= !is_written;
        }
        let globs = |it: &SchemaArgument| {
            let words = parts(&it.name);
            let selects = it.takes_text && !words.iter().any(|word| is_listed("selecting", word));
            let is_pattern = words.last().is_some_and(|last| last == "pattern");
            selects
                && (it.text(&words).says("sign of glob") || (is_pattern && self.purpose.says("sign of glob")))
        };
        files.read |= paths.is_empty() && !self.is_remote && arguments.iter().any(globs);
        files
    }

    /// Returns whether the file at `path` is written, as far as that is known; in doubt it is.
    fn writes(&self, path: &SchemaArgument, words: &[String], has_others: bool) -> bool {
        let any = |table: &str| words.iter().any(|word| is_listed(table, word));
        let verb = |table: &str| self.name.words().any(|word| is_listed(table, word));
        let sentences = [first_sentence(&path.description), &*path.description].map(NormalizedText::of);
        let stated = sentences.iter().find_map(|text| {
            let written = text.says("sign of written");
            (written || text.says("sign of loaded")).then_some(written)
        });
        let is_plain = words.len() == 1;
        match stated {
            _ if verb("verb that moves files") || any("written-to") => true,
            Some(written) => written,
            None if any("read-from") => false,
            None if verb("keeping") => true,
            // The file that is passed on is read; a plain name beside it is the place that it is put into.
            None if verb("giving") => has_others && is_plain,
            None if verb("converting") && has_others => !is_plain,
            None => self.manner != NameManner::Reads,
        }
    }
}

impl SchemaArgument {
    /// Returns the text about the argument: its description and its name.
    fn text(&self, name: &[String]) -> NormalizedText {
        let mut text = NormalizedText::of(&self.description);
        text.push(name);
        text
    }
}

/// Returns the words of an argument's name up to its purpose, without plurals and numbers: for `paths_to_read`, `path`.
fn parts(name: &str) -> Vec<String> {
    let words = words(name);
    let end = words.iter().skip(1).position(|word| word == "to").map_or(words.len(), |at| at + 1);
    words[..end].iter().map(|word| singular(word)).filter(|word| !word.is_empty()).map(Into::into).collect()
}

/// Returns a word without the `s` and the digits at its end.
fn singular(word: &str) -> &str {
    let word = word.trim_end_matches(|character: char| character.is_ascii_digit());
    word.strip_suffix('s').filter(|stem| stem.len() > 1 && !stem.ends_with('s')).unwrap_or(word)
}

/// Returns the nature that the last word of a name gives without any other sign.
fn head(words: &[String]) -> ArgumentNature {
    let sure = |last: &String| HEADS.iter().find(|(_, sign, heads)| sign.is_none() && is_listed(heads, last));
    words.last().and_then(sure).map_or(ArgumentNature::Unknown, |(nature, ..)| *nature)
}

/// Returns the nature that the first telling words of a description give an argument.
fn opening(description: &str) -> ArgumentNature {
    let prose = NormalizedText::of(description);
    let telling: Vec<_> =
        prose.words().skip_while(|word| is_listed("fillers", word)).take(3).map(singular).collect();
    let telling = telling.join(" ");
    let begins = |phrase: &str| {
        telling.strip_prefix(phrase).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let matches = |nature: &ArgumentNature| list(&format!("opening of {}", nature.name())).any(begins);
    OPENINGS.into_iter().find(matches).unwrap_or(ArgumentNature::Unknown)
}

#[cfg(test)]
mod tests;
