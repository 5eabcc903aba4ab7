use std::collections::HashMap;

use mgp_types::{Object, RawJson};
use serde::Deserialize;

use super::words::words;

/// What an argument is, as far as its schema and its name tell; it decides what the argument is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Nature {
    /// Text for people or models, which nothing runs.
    Text,
    /// Nothing is known of it.
    Unknown,
    /// The method of an HTTP request.
    HttpMethod,
    /// A path in a file system.
    Path,
    /// The name or address of a host.
    Host,
    /// An address with a scheme.
    Url,
    /// A statement for a database.
    Sql,
    /// Code of some language.
    Code,
    /// A command for a shell, or a part of one.
    Command,
}

/// What the arguments of one tool are, by the names of their members.
#[derive(Debug, Clone, Default)]
pub struct Natures {
    by_name: HashMap<Box<str>, Nature, foldhash::fast::RandomState>,
    talks_sql: bool,
}

impl Natures {
    /// Reads them from a tool's definition.
    pub fn of(definition: &Object) -> Self {
        let said = |member| definition.text(member).unwrap_or_default();
        let talks_sql = words(&said("name"))
            .iter()
            .chain(&words(&said("description")))
            .any(|word| DATABASE.contains(&&**word));
        let mut natures = Self { by_name: HashMap::default(), talks_sql };
        if let Some(schema) = definition.get("inputSchema") {
            natures.read_schema(&schema, 0);
        }
        natures
    }

    /// What the argument in the member called `name` is.
    pub fn nature(&self, name: &str) -> Nature {
        self.by_name.get(name).copied().unwrap_or_else(|| by_name(name, self.talks_sql))
    }

    /// Whether any argument of the schema is of this nature.
    pub fn has(&self, nature: Nature) -> bool {
        self.by_name.values().any(|known| *known == nature)
    }

    fn read_schema(&mut self, schema: &RawJson, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let Ok(schema) = Object::from_raw(schema) else { return };
        for (keyword, value) in schema.iter() {
            match &*keyword {
                "properties" | "$defs" | "definitions" | "patternProperties" => {
                    let Ok(members) = Object::from_raw(&value) else { continue };
                    // What has a destination as well is a source of files, not of a program.
                    let copies = members.iter().any(|(name, _)| is_destination(&name));
                    for (name, property) in members.iter() {
                        let is_place = copies && (is_destination(&name) || words(&name) == ["source"]);
                        if keyword == "properties" && is_place {
                            self.note(&name, Nature::Path);
                        } else if keyword == "properties" {
                            self.note(&name, by_schema(&name, &property, self.talks_sql));
                        }
                        self.read_schema(&property, depth + 1);
                    }
                }
                "items" | "additionalProperties" | "not" | "if" | "then" | "else" => {
                    self.read_schema(&value, depth + 1);
                }
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                    for branch in value.to::<Vec<RawJson>>().unwrap_or_default() {
                        self.read_schema(&branch, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    /// Of two members with one name the one that needs more care counts.
    fn note(&mut self, name: &str, nature: Nature) {
        self.by_name.entry(name.into()).and_modify(|known| *known = nature.max(*known)).or_insert(nature);
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Hints {
    format: Option<String>,
    #[serde(rename = "contentMediaType")]
    media_type: Option<String>,
}

fn by_schema(name: &str, property: &RawJson, talks_sql: bool) -> Nature {
    let hints: Hints = property.to().unwrap_or_default();
    let told = match hints.format.as_deref() {
        Some("uri" | "uri-reference" | "iri" | "iri-reference" | "url") => Some(Nature::Url),
        Some("hostname" | "idn-hostname" | "ipv4" | "ipv6") => Some(Nature::Host),
        Some("path" | "file-path" | "directory-path") => Some(Nature::Path),
        _ => match hints.media_type.as_deref() {
            Some("application/sql") => Some(Nature::Sql),
            Some("application/x-sh") => Some(Nature::Command),
            Some(media) if CODE_MEDIA.iter().any(|known| media.contains(known)) => Some(Nature::Code),
            _ => None,
        },
    };
    // The schema is the server's own word, so it can add to what the name tells and take nothing away.
    by_name(name, talks_sql).max(told.unwrap_or(Nature::Text))
}

fn by_name(name: &str, talks_sql: bool) -> Nature {
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((&last, before)) = words.split_last() else { return Nature::Unknown };
    let any = |table: &[&str]| words.iter().any(|word| table.contains(word));
    let is_code = matches!(last, "code" | "source" | "script" | "snippet" | "program")
        && before.iter().all(|word| CODE_QUALIFIERS.contains(word));
    if any(COMMAND) {
        Nature::Command
    } else if is_code || any(LANGUAGES) {
        Nature::Code
    } else if any(&["sql"]) || (talks_sql && matches!(last, "query" | "queries" | "statement" | "statements"))
    {
        Nature::Sql
    } else if URL.contains(&last) || any(&["url", "uri", "urls", "uris"]) {
        Nature::Url
    } else if HOST.contains(&last) || words == ["ip", "address"] {
        Nature::Host
    } else if PATH.contains(&last) || any(&["path", "paths", "filepath"]) {
        Nature::Path
    } else if words == ["http", "method"] || words == ["method"] {
        Nature::HttpMethod
    } else if TEXT.contains(&last) {
        Nature::Text
    } else {
        Nature::Unknown
    }
}

fn is_destination(name: &str) -> bool {
    matches!(&*words(name).concat(), "destination" | "dest" | "dst")
}

/// How deep schemas are read; what lies deeper is judged by its name alone.
const MAX_DEPTH: usize = 16;

const COMMAND: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "cmds",
    "cmdline",
    "commandline",
    "shell",
    "bash",
    "powershell",
    "argv",
    "exec",
];
const LANGUAGES: &[&str] = &["python", "javascript", "typescript"];
const CODE_QUALIFIERS: &[&str] = &[
    "source",
    "python",
    "py",
    "js",
    "javascript",
    "ts",
    "typescript",
    "user",
    "raw",
    "test",
    "the",
    "full",
    "r",
    "lua",
];
const CODE_MEDIA: &[&str] = &["python", "javascript", "typescript", "ecmascript"];
const DATABASE: &[&str] = &[
    "sql",
    "database",
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "sqlite",
    "duckdb",
    "bigquery",
    "snowflake",
    "redshift",
    "clickhouse",
    "db",
];
const URL: &[&str] = &["link", "links", "href", "endpoint", "webhook", "callback"];
const HOST: &[&str] = &["host", "hosts", "hostname", "domain", "domains", "ip", "fqdn"];
const PATH: &[&str] = &[
    "file",
    "files",
    "filename",
    "filenames",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "cwd",
    "workdir",
    "workspace",
];
const TEXT: &[&str] = &[
    "text",
    "message",
    "messages",
    "content",
    "contents",
    "body",
    "description",
    "title",
    "comment",
    "comments",
    "prompt",
    "note",
    "notes",
    "summary",
    "reason",
    "subject",
    "question",
    "answer",
    "instructions",
    "instruction",
    "query",
    "search",
    "caption",
    "thought",
    "observation",
    "observations",
    "keywords",
    "topic",
    "html",
    "markdown",
    "template",
    "data",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn natures(definition: &str) -> Natures {
        Natures::of(&Object::parse(definition.to_owned()).unwrap())
    }

    #[test]
    fn names_tell_what_arguments_are() {
        use Nature::{Code, Command, Host, HttpMethod, Path, Text, Unknown, Url};
        for (name, nature) in [
            ("command", Command),
            ("shellCommand", Command),
            ("cmd", Command),
            ("code", Code),
            ("python_code", Code),
            ("country_code", Unknown),
            ("postalCode", Unknown),
            ("script", Code),
            ("url", Url),
            ("webhook", Url),
            ("repo_url", Url),
            ("url_path", Url),
            ("hostname", Host),
            ("ip_address", Host),
            ("path", Path),
            ("outputFile", Path),
            ("http_method", HttpMethod),
            ("commit_message", Text),
            ("query", Text),
            ("branch", Unknown),
        ] {
            assert_eq!(Natures::default().nature(name), nature, "{name}");
        }
    }

    #[test]
    fn a_schema_adds_to_what_the_name_tells_and_takes_nothing_away() {
        let natures = natures(
            r#"{"name":"fetch","inputSchema":{"properties":{
                "target":{"type":"string","format":"uri"},
                "command":{"type":"string","format":"uri"},
                "nested":{"type":"array","items":{"properties":{"place":{"format":"hostname"}}}}}}}"#,
        );
        assert_eq!(natures.nature("target"), Nature::Url);
        assert_eq!(natures.nature("command"), Nature::Command);
        assert_eq!(natures.nature("place"), Nature::Host);
    }

    #[test]
    fn a_query_is_sql_where_a_database_is_talked_to() {
        let database = natures(r#"{"name":"run_query","description":"Runs it on the PostgreSQL database"}"#);
        assert_eq!(database.nature("query"), Nature::Sql);
        let search = natures(r#"{"name":"search","description":"Searches the web"}"#);
        assert_eq!(search.nature("query"), Nature::Text);
    }

    #[test]
    fn a_schema_of_any_depth_is_survived() {
        let deep = format!("{}1{}", r#"{"items":"#.repeat(100), "}".repeat(100));
        let natures = natures(&format!(r#"{{"name":"x","inputSchema":{deep}}}"#));
        assert_eq!(natures.nature("path"), Nature::Path);
    }
}
