//! Tests of errors and warnings.

use super::super::shape::{self, Shape};
use super::super::shape_check::retired;
use super::super::{Problem, Severity};
use super::authorization::LISTEN;
use super::parse;
use crate::Position;

#[test]
fn a_wrong_word_is_told_with_its_place_and_what_was_meant() {
    let problem = only_problem("[[servers]]\nid = \"a\"\ncommand = \"x\"\ntransport = \"studio\"\n");
    assert_eq!(
        problem.to_string(),
        "error: `studio` is not a known value here\n  --> mgp.toml:4:13 (servers[0].transport)\n   |\n \
         4 | transport = \"studio\"\n   |             ^^^^^^^^\n   = help: did you mean `stdio`?"
    );
}

/// Returns the only problem of a text: what it is refused for, or a warning.
fn only_problem(text: &str) -> Problem {
    let mut problems = parse(text).map_or_else(|error| error.problems().to_vec(), |(_, warnings)| warnings);
    assert_eq!(problems.len(), 1, "{text}: {problems:?}");
    problems.remove(0)
}

#[test]
fn each_mistake_says_where_it_is_and_what_to_write() {
    let introspection = |name: &str| {
        format!(
            "{{issuer='https://{name}.example', introspection={{\
            url='https://{name}.example/i', client_id='c', client_secret='${{secret:S}}'}}}}"
        )
    };
    let remote = "[[servers]]\nid='a'\nurl='https://a.example/mcp'\n[servers.oauth]";
    let known = [
        ("\\n", "\n".to_owned()),
        ("PROGRAM", "[[servers]]\nid='a'\ncommand='x'".to_owned()),
        ("REMOTE", remote.to_owned()),
        ("OF_EACH", remote.replace("id='a'", "id='a'\nsharing='agent'")),
        ("ASKED", ["a", "b"].map(introspection).join(", ")),
        ("LISTEN", LISTEN.to_owned()),
        ("ISSUERS", "[listen]\npublic_url='https://mgp.example/mcp'\n[listen.oauth]\nissuers".to_owned()),
    ];
    for row in include_str!("mistakes.txt").lines().filter(|row| !row.starts_with('#')) {
        let parts: Vec<&str> = row.split(" =>").map(str::trim).collect();
        let [text, place, instead] = parts[..] else { panic!("{row}") };
        let problem =
            only_problem(&known.iter().fold(text.to_owned(), |text, (word, of)| text.replace(word, of)));
        let is_warning = place.starts_with('~');
        assert_eq!(problem.severity == Severity::Warning, is_warning, "{problem}");
        let position = problem.position.unwrap();
        let key = problem.key.as_deref().unwrap();
        let found = format!("{}:{} {key}", position.line, position.column);
        let place = place.trim_start_matches('~');
        assert!(found == place || key == place, "{found} is not {place}: {problem}");
        assert!(problem.instead.unwrap_or_default().contains(instead), "{row}");
    }
}

#[test]
fn a_setting_of_an_earlier_version_is_told_with_what_holds_now_and_the_file_is_read() {
    let text =
        "[[servers]]\nid='a'\ncommand='x'\n[servers.limits]\nwaiting_ms=5\n[names.clients.x]\nlongest=40\n";
    let (config, warnings) = parse(text).unwrap();
    assert_eq!(config.servers.len(), 1);
    let reported: Vec<_> =
        warnings.iter().map(|warning| (warning.position.unwrap().line, warning.what.as_str())).collect();
    assert_eq!(
        reported,
        [
            (5, "`waiting_ms` is no longer a setting and has no effect"),
            (6, "`clients` is no longer a setting and has no effect"),
        ]
    );
    let instead = warnings[0].instead.as_deref().unwrap();
    assert!(instead.contains("two minutes"), "{instead}");
    for (key, _) in retired() {
        let (section, name) = key.rsplit_once('.').unwrap();
        let known = section.split('.').try_fold(shape::root(), |table, name| match &table.key(name)?.shape {
            Shape::Table(table) => Some(table),
            Shape::List(each) => match &**each {
                Shape::Table(table) => Some(table),
                _ => None,
            },
            _ => None,
        });
        assert!(known.is_some_and(|table| table.key(name).is_none()), "{key}");
    }
}

#[test]
fn a_value_that_may_be_a_secret_is_not_quoted() {
    let problem = only_problem("[[servers]]\nid='a'\ncommand='x'\nenv={A='hunter2', B='hunter2${'}\n");
    assert_eq!(problem.position, Some(Position { line: 4, column: 21 }));
    assert!(!problem.to_string().contains("hunter2"), "{problem}");
    for text in [
        "[[servers]]\nid='a'\ncommand='x'\nenv={A='hunter2\n",
        "[[servers]]\nid='a'\ncommand='x'\n[servers.env]\nA = hunter2\n",
        "[[servers]]\nid='a'\ncommand='x'\nurl='https://hunter2@h/${'\n",
        "[[servers]]\nid='a'\ncommand='x'\nargs=['--key', 'hunter2', '${']\n",
        "[[servers]]\nid='a'\ncommand='x'\nenv={A='hunter2'}\nenv.B.C=7\n",
    ] {
        let message = parse(text).unwrap_err().to_string();
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    let problem = only_problem("[[servers]]\nid = \"a\ncommand = 'x'\n");
    assert_eq!(problem.position.map(|position| position.line), Some(2), "{problem}");
    let twice = only_problem("[listen]\nhttp='127.0.0.1:1'\nhttp='127.0.0.1:2'\n");
    assert_eq!(twice.position, Some(Position { line: 3, column: 1 }), "{twice}");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let error = parse("[[servers]]\nid=1\ncommand=2\n[tools]\nlevel='L9'\n").unwrap_err();
    assert_eq!(error.problems().len(), 3, "{error}");
}

#[test]
fn names_that_others_may_have_defined_are_not_doubted() {
    let text = "[[servers]]\nid='a'\ncommand='x'\nmgp.permissions_required=['com.example.print']\n";
    let own = parse(text).unwrap();
    assert_eq!(own.1, []);
}

#[test]
fn a_file_of_mistakes_is_not_answered_with_a_book() {
    for mistake in ["[[servers]]\nid=1\n", "[[servers]]\nid='a b'\n", "[[agents]]\n", "[[access.rules]]\n"] {
        let error = parse(&mistake.repeat(20_000)).unwrap_err();
        assert!(error.problems().len() <= 50);
    }
    let odd = (0..20_000).map(|number| format!("odd{number} = 1")).collect::<Vec<_>>().join("\n") + "\n";
    assert!(parse(&odd).unwrap().1.len() <= 50);
    assert!(parse(&format!("{odd}servers = 1")).is_err(), "warnings do not hide a mistake");
}

#[test]
fn a_file_that_is_nested_without_end_is_problem() {
    for text in ["a=[".repeat(100_000), "a={a=".repeat(100_000), format!("[{}a]", "a.".repeat(100_000))] {
        let _ = parse(&text).map_err(|error| assert!(!error.problems().is_empty()));
    }
    assert!(parse(&format!("a={}", "[".repeat(100_000))).is_err());
}
