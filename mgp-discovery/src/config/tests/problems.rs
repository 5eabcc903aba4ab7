//! Tests of errors and warnings.

use super::super::shape::{self, Shape};
use super::super::shape_check::retired;
use super::super::{Problem, Severity};
use super::parse;
use crate::Position;

/// Returns the only problem of a text that is refused.
pub(super) fn refused(text: &str) -> Problem {
    let error = parse(text).expect_err("it is refused");
    assert_eq!(error.problems().len(), 1, "{error}");
    error.problems()[0].clone()
}

fn warned(text: &str) -> Problem {
    let (_, mut warnings) = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    warnings.remove(0)
}

#[test]
fn a_wrong_word_is_told_with_its_place_and_what_was_meant() {
    let problem = refused("[[servers]]\nid = \"a\"\ncommand = \"x\"\ntransport = \"studio\"\n");
    assert_eq!(
        problem.to_string(),
        "error: `studio` is not a known value here\n  --> mgp.toml:4:13 (servers[0].transport)\n   |\n \
         4 | transport = \"studio\"\n   |             ^^^^^^^^\n   = help: did you mean `stdio`?"
    );
}

#[test]
fn each_mistake_says_where_it_is_and_what_to_write() {
    let server = "[[servers]]\nid='a'\ncommand='x'\n";
    let cases = r#"
        [[servers]]\ncommand='x'\n => 1:1 servers[0] => write `id = "name"`
        [[servers]]\nid='a b'\ncommand='x'\n => 2:4 servers[0].id => `a-b`
        SERVERSERVER => 5:4 servers[1].id => another id
        [[servers]]\nid='a'\n => 1:1 servers[0] => write `command
        SERVERurl='http://x'\n => 4:5 servers[0].url => keep one of them
        SERVERtransport='http'\n => 4:11 servers[0].transport => write `stdio`
        SERVERrestart_policy='on-failure'\n => 4:16 servers[0].restart_policy => `on_failure`
        SERVERrestart_policy='never'\nmgp.restart_policy='always'\n => 5:20 servers[0].mgp.restart_policy => keep one of them
        SERVERmax_restarts=-1\n => 4:14 servers[0].max_restarts => from 0 to 4294967295
        SERVERlimits.concurrency=0\n => 4:20 servers[0].limits.concurrency => from 1
        SERVERtools.wipe.calls_per_minute=0\n => 4:29 servers[0].tools.wipe.calls_per_minute => from 1
        SERVERtools.wipe.required_scopes=['a b']\n => 4:29 servers[0].tools.wipe.required_scopes[0] => without a space
        [[agents]]\nid='a'\nscopes=['a','temp:1h']\n => 3:13 agents[0].scopes[1] => remove it
        [limits]\nagent_calls_per_day=0\n => 2:21 limits.agent_calls_per_day => from 1
        [[servers]]\nid='mgp_x'\ncommand='x'\n => 2:4 servers[0].id => something else
        SERVERenabled='yes'\n => 4:9 servers[0].enabled => write true or false
        SERVERargs='-x'\n => 4:6 servers[0].args => write a list
        SERVERenv={PORT=80}\n => 4:11 servers[0].env.PORT => write a text
        SERVERenv={A='${a-b}'}\n => 4:8 servers[0].env.A => write `${NAME}`
        SERVERsecurity.validators=['sandbox', 'sandbx']\n => 4:33 servers[0].security.validators[1] => did you mean `sandbox`?
        SERVERbackoff_base_ms=5\nbackoff_max_ms=4\n => 5:16 servers[0].backoff_max_ms => 5 or more
        [[servers]]\nid='a'\nurl='ftp://x'\n => 3:5 servers[0].url => https://example.com/mcp
        [[servers]]\nid='a'\nurl='example.com'\n => 3:5 servers[0].url => https://example.com/mcp
        [listen]\nhttp=':80'\n => 2:6 listen.http => write `127.0.0.1:80`
        [telemetry]\notlp='x'\n => 2:6 telemetry.otlp => https://
        [tools]\nembedder='magic'\n => 2:10 tools.embedder => `static`
        [tools]\nembedder='http://a.example/v1'\n => 2:10 tools.embedder => fastembed:DIRECTORY
        [tools]\nembedder='remote:https://a.example/v1'\n => 2:10 tools.embedder => fastembed:DIRECTORY
        [access]\ndefault='optin'\n => 2:9 access.default => `opt-in`
        [[access.rules]]\nagent='a'\nserver='b'\n => 1:1 access.rules[0] => `permission` is
        [[permissions.grants]]\npermission='camera'\nscope={path=['/']}\n => 3:8 permissions.grants[0].scope.path => did you mean `paths`?
        [[agents]]\nid='a'\nstdio=true\n[[agents]]\nid='b'\nstdio=true\n => 6:7 agents[1].stdio => keep one
        servers='x'\n => 1:9 servers => write a list
    "#;
    for case in cases.trim().lines() {
        let parts: Vec<&str> = case.trim().split(" => ").collect();
        let [text, place, instead] = parts[..] else { panic!("{case}") };
        let problem = refused(&text.replace("SERVER", server).replace("\\n", "\n"));
        let position = problem.position.unwrap();
        let key = problem.key.as_deref().unwrap();
        assert_eq!(format!("{}:{} {key}", position.line, position.column), place, "{problem}");
        assert!(problem.instead.as_deref().is_some_and(|it| it.contains(instead)), "{problem}");
        assert_eq!(problem.severity, Severity::Error);
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
    let problem = refused("[[servers]]\nid='a'\ncommand='x'\nenv={A='hunter2', B='hunter2${'}\n");
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
    let problem = refused("[[servers]]\nid = \"a\ncommand = 'x'\n");
    assert_eq!(problem.position.map(|position| position.line), Some(2), "{problem}");
    let twice = refused("[listen]\nhttp='127.0.0.1:1'\nhttp='127.0.0.1:2'\n");
    assert_eq!(twice.position, Some(Position { line: 3, column: 1 }), "{twice}");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let error = parse("[[servers]]\nid=1\ncommand=2\n[tools]\nlevel='L9'\n").unwrap_err();
    assert_eq!(error.problems().len(), 3, "{error}");
}

#[test]
fn an_unknown_key_is_a_warning_with_what_was_meant() {
    for (text, place, key, instead) in [
        (
            "[[servers]]\nid='a'\ncomand='x'\ncommand='x'\n",
            (3, 1),
            "servers[0].comand",
            "did you mean `command`?",
        ),
        ("[serverz]\n", (1, 2), "serverz", "did you mean `servers`?"),
        ("[listen]\npinned=[]\n", (2, 1), "listen.pinned", "belongs in `[tools]`"),
        ("[kernel]\n\"odd key\"=1\n", (2, 1), "kernel.\"odd key\"", ""),
    ] {
        let problem = warned(text);
        let (line, column) = place;
        assert_eq!(problem.severity, Severity::Warning);
        assert_eq!(problem.position, Some(Position { line, column }), "{problem}");
        assert_eq!(problem.key.as_deref(), Some(key), "{problem}");
        assert!(problem.instead.unwrap_or_default().contains(instead));
    }
}

#[test]
fn names_that_others_may_have_defined_are_only_doubted_if_they_are_nearly_known() {
    let server = "[[servers]]\nid='a'\ncommand='x'\n";
    let slip = warned(&format!("{server}mgp.permissions_required=['netwrk.outbound']\n"));
    assert_eq!(slip.instead.as_deref(), Some("did you mean `network.outbound`?"));
    let own = parse(&format!("{server}mgp.permissions_required=['com.example.print']\n")).unwrap();
    assert_eq!(own.1, []);
}

#[test]
fn a_rule_for_a_server_that_there_is_not_is_a_warning() {
    let text = "[[servers]]\nid='tickets'\ncommand='x'\n\
                [[access.rules]]\nagent='a'\nserver='ticket'\npermission='deny'\n";
    let problem = warned(text);
    assert_eq!(problem.position, Some(Position { line: 6, column: 8 }));
    assert_eq!(problem.instead.as_deref(), Some("did you mean `tickets`?"));
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
fn a_file_that_is_nested_without_end_is_refused() {
    for text in ["a=[".repeat(100_000), "a={a=".repeat(100_000), format!("[{}a]", "a.".repeat(100_000))] {
        let _ = parse(&text).map_err(|error| assert!(!error.problems().is_empty()));
    }
    assert!(parse(&format!("a={}", "[".repeat(100_000))).is_err());
}

#[test]
fn a_rule_of_definitions_that_there_is_not_is_refused_with_the_nearest() {
    let problem = refused(
        "[[servers]]\nid = \"a\"\ncommand = \"x\"\n[servers.definitions]\n\
         allow = [{ tool = \"read\", rule = \"hidden-instructions\" }]\n",
    );
    let message = problem.to_string();
    assert!(message.contains("did you mean `hidden-instruction`?"), "{message}");
    assert!(message.contains("servers[0].definitions.allow[0].rule"), "{message}");
}
