use serde_json::Value;

use crate::home::Home;
use crate::user;

// covers: MGP-5.4-02
#[test]
fn access_is_granted_asked_for_and_taken_back() {
    let home = Home::new();
    let grant = ["access", "grant", "a", "fs", "read", "--deny", "--force", "--because", "tests"];
    assert_eq!(home.json(grant)["permission"], "deny");
    let asked = home.run(["access", "query", "a", "fs", "read", "--json"]);
    assert_eq!(asked.code, Some(3), "{asked:?}");
    let asked: Value = serde_json::from_str(&asked.out).unwrap();
    assert_eq!((&asked["source"], &asked["granted_by"]), (&"tool_grant".into(), &user().into()));
    home.done(["access", "query", "a", "fs", "write"]);
    let listed = home.json(["access", "list", "--agent", "a"]);
    assert_eq!(listed["entries"][0]["justification"], "tests");
    assert_eq!(home.json(["access", "list", "--agent", "b"])["entries"].as_array().unwrap().len(), 0);
    home.done(["access", "revoke", "a", "fs", "read"]);
    home.done(["access", "query", "a", "fs", "read"]);
    let none = home.run(["access", "revoke", "a", "fs", "read", "--json"]);
    assert_eq!(none.code, Some(1));
    let error: Value = serde_json::from_str(&none.err).unwrap();
    assert!(error["error"]["hint"].as_str().unwrap().contains("access list"));
}

#[test]
fn a_permission_is_granted_within_bounds_and_taken_back() {
    let home = Home::new();
    let yes = [
        "permissions", "approve", "fs", "filesystem.read", "--all-agents", "--force", "--scope",
        r#"{"paths":["/data/**"]}"#,
    ];
    assert_eq!(home.json(yes)["decision"], "approved");
    let listed = home.json(["permissions", "list"]);
    assert_eq!(listed["grants"][0]["scope"]["paths"][0], "/data/**");
    assert_eq!(listed["grants"][0]["approved_by"], user());
    assert_eq!(home.json(["permissions", "deny", "fs", "filesystem.read"])["decision"], "denied");
    assert_eq!(home.json(["permissions", "list", "fs"])["grants"][0]["decision"], "denied");
    assert_eq!(home.json(["permissions", "list", "other"])["grants"].as_array().unwrap().len(), 0);
    let wrong = home.run([
        "permissions", "approve", "fs", "filesystem.read", "--all-agents", "--scope", r#"{"path":[]}"#,
    ]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    home.done(["pin", "list"]);
}

#[test]
fn a_rule_about_questions_names_what_exists_or_is_forced() {
    let home = Home::with_clock();
    home.run(["tools"]);
    let before = home.read("mgp.toml");
    for (tool, meant) in [("clock.nwo", Some("clock.now")), ("clokc.*", Some("clock.*")), ("mail.send", None)]
    {
        let refused = home.run(["ask", "never", tool]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.err.contains("`--force` sets the rule as it is written"), "{refused:?}");
        let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
        assert!(hint.is_none_or(|hint| refused.err.contains(&hint)), "{refused:?}");
    }
    assert_eq!(home.read("mgp.toml"), before);
    home.done(["ask", "once", "clock.*", "--effect", "reads"]);
    home.done(["ask", "never", "clock.nwo", "--force"]);
    assert!(home.run(["doctor"]).out.contains("ask: never clock.nwo"), "a rule for nothing is told");
    home.done(["ask", "forget", "clock.nwo"]);
    // Nobody knows the tools of a server that was never connected.
    home.json(["add", "late", "--", "sleep", "60"]);
    home.done(["ask", "never", "late.anything"]);
    let effect = home.run(["ask", "once", "clock.now", "--effect", "destroy"]);
    assert!(effect.code == Some(1) && effect.err.contains("destroys"), "{effect:?}");
    let shell = home.run(["ask", "never", "clock.now", "--command", "sh -c"]);
    assert!(shell.code == Some(1) && shell.err.contains("as in `npm run`"), "{shell:?}");
    let sometimes = home.run(["ask", "sometimes", "clock.now"]);
    assert_eq!(sometimes.code, Some(1), "{sometimes:?}");
    assert!(sometimes.err.contains("never, once, always, refuse, forget or list"), "{sometimes:?}");
}

#[test]
fn a_mistake_is_told_in_words_of_the_command_line() {
    let home = Home::with_state();
    let open = home.run(["open", "nowhere"]);
    assert!(open.code == Some(1) && open.err.contains("nowhere: no such folder"), "{open:?}");
    let span = home.run(["permissions", "approve", "x", "--for", "8hours"]);
    assert!(span.code == Some(1) && span.err.contains("--for") && !span.err.contains("--until"), "{span:?}");
}
