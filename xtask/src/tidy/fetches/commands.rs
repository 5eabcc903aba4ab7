//! The commands that fetch packages, as they stand in texts: in a shell, in a sentence, in the configuration of a client.

/// Returns the packages that the commands in a text fetch, each with the number of its line. In Markdown, commands stand in code.
pub(super) fn fetched(text: &str, is_markdown: bool) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    let mut start = 0;
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let next = start + line.len();
        // Configurations have the arguments of a command in a line of their own.
        let after = text[next..].split_inclusive('\n').next().unwrap_or_default();
        let has_arguments = after.trim_start().trim_start_matches('"').starts_with("args");
        let command = &text[start..next + if has_arguments { after.len() } else { 0 }];
        start = next;
        if is_markdown && line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        let pieces = command.split('`').enumerate();
        let pieces = pieces.filter(|(index, _)| !is_markdown || is_fenced || index % 2 == 1);
        found.extend(pieces.flat_map(|(_, piece)| packages(piece)).map(|package| (number, package)));
    }
    found
}

/// Returns the image that a line of a container's description names.
pub(super) fn image(line: &str) -> Option<&str> {
    let named = line
        .trim()
        .strip_prefix("image: ")
        .or_else(|| line.split_once("COPY --from=").map(|(_, rest)| rest))?;
    named.split_whitespace().next().map(|image| image.trim_matches('"')).filter(|image| !image.is_empty())
}

/// Returns the packages that the commands in a piece of text fetch.
fn packages(piece: &str) -> Vec<&str> {
    let words = words(piece);
    let mut found = Vec::new();
    for at in 0..words.len() {
        for fetcher in FETCHERS.lines() {
            let (verbs, takes) = fetcher.split_once(" : ").unwrap_or((fetcher, ""));
            let verbs: Vec<_> = verbs.split(' ').collect();
            let is_it = verbs.len() <= words.len() - at
                && verbs
                    .iter()
                    .zip(&words[at..])
                    .all(|(verb, word)| verb.split('|').any(|verb| verb == word.text))
                && words[at..at + verbs.len() - 1].iter().all(|word| !word.is_last);
            if is_it && !words[at + verbs.len() - 1].is_last {
                found.extend(arguments(&words[at + verbs.len()..], takes == "one"));
            }
        }
    }
    found
}

/// Returns the packages among the arguments of a command.
fn arguments<'t>(words: &[Word<'t>], takes_one: bool) -> Vec<&'t str> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(Word { text, is_last }) = words.next() {
        if LOCAL.contains(text) {
            return Vec::new();
        }
        let is_value_next = VALUED.contains(text) && !is_last;
        if PACKAGED.contains(text) || is_value_next {
            let value = words.next();
            found.extend(value.filter(|_| PACKAGED.contains(text)).map(|value| value.text));
            if value.is_none_or(|value| value.is_last) {
                break;
            }
        } else if !text.starts_with('-') {
            found.push(*text);
        }
        if *is_last || (takes_one && !found.is_empty()) {
            break;
        }
    }
    found
}

/// A word of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word<'t> {
    text: &'t str,
    /// Whether the command ends with it.
    is_last: bool,
}

/// Returns the words of a piece of text, without what separates them in JSON and TOML.
fn words(piece: &str) -> Vec<Word<'_>> {
    let mut words = Vec::<Word<'_>>::new();
    for raw in piece.split(|c: char| c.is_whitespace() || "\"'[]".contains(c)) {
        if ["", ",", ":", "=", "args", "args:", "\\"].contains(&raw) {
            continue;
        }
        if raw.starts_with(['#', '|', '&', ';', '(', ')', '}', '>']) {
            if let Some(last) = words.last_mut() {
                last.is_last = true;
            }
            continue;
        }
        let trimmed = raw.trim_end_matches(ENDS);
        // The folder `.` is a word, too.
        let text = if trimmed.is_empty() { raw } else { trimmed };
        // Options in a list have a comma behind them, too.
        words.push(Word { text, is_last: raw != text && !text.starts_with('-') });
    }
    words
}

/// What stands behind the last word of a command.
const ENDS: [char; 8] = [',', ';', '.', ':', ')', '}', '|', '&'];

/// The commands that fetch packages, each with whether it takes one package, and the program's own arguments behind it, or many.
const FETCHERS: &str = "\
npx|pnpx|bunx : one
npm|pnpm|yarn|bun exec|dlx|x : one
npm|pnpm|yarn|bun install|i|add|ci|update|upgrade : many
uvx : one
uv tool run : one
uv tool install|upgrade : many
uv add : many
uv pip install : many
pip|pip3|pipx install|download|upgrade : many
pipx run : one
cargo install|add|binstall|generate : many
brew install|reinstall|upgrade|tap : many
winget|choco|scoop install|upgrade : many
apt|apt-get|aptitude|dnf|yum|zypper install|upgrade : many
apk add : many
docker|podman|nerdctl pull : many
docker|podman|nerdctl run : one
git clone : one
nix run : one
nix profile install|add|upgrade : many
go install|get : many
gem install : many";

/// Options whose values are the files that the command uses in the place of packages.
const LOCAL: [&str; 5] = ["--path", "--manifest-path", "-r", "--requirement", "--manifest"];

/// Options whose values are packages.
const PACKAGED: [&str; 4] = ["--from", "--with", "--package", "--git"];

/// Options whose values are none.
const VALUED: [&str; 25] = [
    "--version", "--root", "--features", "--profile", "--target", "--registry", "--prefix", "--cache-dir",
    "--name", "-v", "-p", "-e", "--env", "--volume", "--publish", "--user", "-u", "--network", "--mount",
    "--workdir", "-w", "--branch", "-b", "--depth", "--cache",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<&str> {
        fetched(text, false).into_iter().map(|(_, package)| package).collect()
    }

    #[test]
    fn packages_follow_the_commands_that_fetch_them() {
        for (text, packages) in [
            ("npx -y @mgp/cli demo", &["@mgp/cli"][..]),
            ("uvx mgp demo", &["mgp"]),
            ("uvx --from ./x.whl mgp demo", &["./x.whl"]),
            ("sudo apt-get install -y -qq gcc libc6-dev && make", &["gcc", "libc6-dev"]),
            ("pip install mgp and", &["mgp", "and"]),
            ("    \"uv tool upgrade mgp, or pip install --upgrade mgp\"", &["mgp", "mgp"]),
            ("cargo install --path mgp-kernel", &[]),
            ("cargo install cargo-deny --locked --version 0.20.2", &["cargo-deny"]),
            ("cargo install --git https://a.example/mgp", &["https://a.example/mgp"]),
            ("cargo generate mgp-project/mgp mgp-kernel/src", &["mgp-project/mgp", "mgp-kernel/src"]),
            ("npm install -g ./a.tgz ./b.tgz   # of your platform", &["./a.tgz", "./b.tgz"]),
            (
                "podman run -d --name mgp -p 7332:7332 -v a:/b localhost/mgp:0.1.0 serve",
                &["localhost/mgp:0.1.0"],
            ),
            ("docker pull x/mgp", &["x/mgp"]),
            ("run npm install, then start it", &[]),
            ("npm install; npm start", &[]),
            ("a package manager installs it", &[]),
        ] {
            assert_eq!(of(text), packages, "{text}");
        }
    }

    #[test]
    fn configurations_of_clients_are_commands() {
        assert_eq!(
            of(r#"{ "mgp": { "command": "npx", "args": ["-y", "@mgp/cli", "serve"] } }"#),
            ["@mgp/cli"]
        );
        assert_eq!(of("command = \"uvx\"\nargs = [\"mgp\", \"serve\"]\n"), ["mgp"]);
        assert_eq!(of("  \"command\": \"npx\",\n  \"args\": [\"-y\", \"mgp\"]\n"), ["mgp"]);
    }

    #[test]
    fn in_markdown_only_code_is_a_command() {
        let text = "Use git clone of it, or `npx a`.\n```sh\nuvx b\n```\nuvx c\n";
        assert_eq!(fetched(text, true), [(1, "a"), (3, "b")]);
    }
}
