use super::{Choice, Needed};

/// A server cannot be started as it is described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The document is no `server.json`.
    #[error("line {line}, column {column}: {what}")]
    Document {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// The document is too large.
    #[error("the document has more {what} than the {limit} that are read")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is read.
        limit: usize,
    },
    /// The document has no such package or remote.
    #[error("there is no {choice:?} in the document")]
    NoSuchChoice {
        /// What was asked for.
        choice: Choice,
    },
    /// The kind of package is not known.
    #[error("packages from `{registry}` are not known: it is one of npm, pypi, nuget, oci, mcpb")]
    UnknownRegistry {
        /// What the document says.
        registry: String,
    },
    /// The document asks for a program that does not start such packages.
    #[error("`{program}` is not used for packages from {registry}: it is one of {}", allowed.join(", "))]
    UnknownProgram {
        /// What the document says.
        program: String,
        /// Where the package is from.
        registry: &'static str,
        /// What may be used.
        allowed: &'static [&'static str],
    },
    /// A name or version has characters that none has.
    #[error("`{text}` is no {what}")]
    Malformed {
        /// What it should be.
        what: &'static str,
        /// What the document says, with what cannot be seen as escapes.
        text: String,
    },
    /// The document refers to the environment of the kernel, which is none of its business.
    #[error(
        "{place} refers to the environment by `${{…}}`: a document may only have `{{name}}` and `variables`"
    )]
    Reference {
        /// Where.
        place: String,
    },
    /// A bundle cannot be checked.
    #[error(
        "the bundle {url} comes without `fileSha256`, so nobody can tell whether it is the right one: ask its \
         publisher to add it, or take another package"
    )]
    Unverified {
        /// Where the bundle is.
        url: String,
    },
    /// A bundle has to be unpacked first.
    #[error(
        "download {url}, check that its SHA-256 is {sha256}, unpack it, and add the command that its manifest.json \
         names"
    )]
    Bundle {
        /// Where the bundle is.
        url: String,
        /// What it has to be.
        sha256: String,
    },
    /// The package is a server over HTTP.
    #[error("the package is reached by {transport} once it runs: start it yourself and add its url")]
    NotStdio {
        /// How it is reached.
        transport: String,
    },
    /// Something has to be filled in.
    #[error("still needed: {}", needed.iter().map(|needed| needed.name.as_str()).collect::<Vec<_>>().join(", "))]
    Missing {
        /// What.
        needed: Vec<Needed>,
    },
    /// An answer is not one that may be given.
    #[error("`{name}`: {why}")]
    BadAnswer {
        /// What was answered.
        name: String,
        /// What is wrong, and what to answer instead.
        why: String,
    },
}
