//! Errors of making a start command.

use super::RequiredInput;

/// The reason why a server cannot be started as it is described.
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
        /// The error in the document.
        what: String,
    },
    /// The document is too large.
    #[error("the document has more than {limit} {what}")]
    TooLarge {
        /// The kind of the items that are too many.
        what: &'static str,
        /// The number of items that are read at most.
        limit: usize,
    },
    /// The document has no such package or remote.
    #[error("there is no such way to use the server: the document has {ways}")]
    NoSuchWay {
        /// The number of packages and remotes in the document.
        ways: usize,
    },
    /// The kind of package is unknown.
    #[error(
        "packages from `{registry}` are not supported: the registry is one of npm, pypi, nuget, oci, mcpb"
    )]
    UnknownRegistry {
        /// The kind in the document.
        registry: String,
    },
    /// The document asks for a program that does not start such packages.
    #[error("`{program}` is not used for packages from {registry}: use one of {}", allowed.join(", "))]
    UnknownProgram {
        /// The program in the document.
        program: String,
        /// The registry of the package.
        registry: &'static str,
        /// The programs that are allowed.
        allowed: &'static [&'static str],
    },
    /// A name or version has invalid characters.
    #[error("`{text}` is no {what}")]
    Malformed {
        /// The kind of the text.
        what: &'static str,
        /// The text in the document, with invisible characters as escapes.
        text: String,
    },
    /// The document refers to the environment of the kernel, which is not allowed.
    #[error(
        "{place} refers to the environment by `${{…}}`: a document may only have `{{name}}` and `variables`"
    )]
    Reference {
        /// The place of the reference.
        place: String,
    },
    /// A bundle has no digest to check.
    #[error(
        "the bundle {url} comes without `fileSha256`, so nobody can tell whether it is the right one: ask its \
         publisher to add it, or take another package"
    )]
    Unverified {
        /// The URL of the bundle.
        url: String,
    },
    /// A bundle has to be unpacked first.
    #[error(
        "download {url}, check that its SHA-256 is {sha256}, unpack it, and add the command that its manifest.json \
         names"
    )]
    Bundle {
        /// The URL of the bundle.
        url: String,
        /// The SHA-256 that the bundle must have.
        sha256: String,
    },
    /// The package is a server over HTTP.
    #[error("the package is reached by {transport} once it runs: start the server yourself and add its url")]
    NotStdio {
        /// The transport of the package.
        transport: String,
    },
    /// Values have to be filled in.
    #[error("still needed: {}", needed.iter().map(|needed| needed.name.as_str()).collect::<Vec<_>>().join(", "))]
    Missing {
        /// The values that are missing.
        needed: Vec<RequiredInput>,
    },
    /// An answer is not valid.
    #[error("`{name}`: {why}")]
    BadAnswer {
        /// The name of the value.
        name: String,
        /// The error, and what to answer instead.
        why: String,
    },
}
