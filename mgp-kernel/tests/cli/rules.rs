use serde_json::Value;

use crate::home::Home;
use crate::user;

#[test]
fn a_key_is_shown_once_and_is_worthless_when_it_is_revoked() {
    let home = Home::new();
    let issued =
        home.json(["keys", "new", "agent.one", "--allow", "call:fs.read", "--until", "30d", "--force"]);
    let (secret, id) = (issued["secret"].as_str().unwrap(), issued["id"].as_str().unwrap());
    assert!(secret.starts_with("mgp_") && secret.contains(id));
    let listed = home.run(["keys", "list", "--json"]);
    assert!(!listed.out.contains(secret), "{}", listed.out);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(listed["keys"][0]["owner"], "agent.one");
    assert_eq!(listed["keys"][0]["expired"], false);
    let kept = std::fs::read(home.path(".local/state/mgp/mgp.db")).unwrap();
    assert!(!kept.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()));
    assert_eq!(home.run(["keys", "revoke", id]).code, Some(0));
    assert_eq!(home.json(["keys", "list"])["keys"].as_array().unwrap().len(), 0);
    assert_eq!(home.run(["keys", "revoke", id]).code, Some(1));
}

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
    assert_eq!(home.run(["access", "query", "a", "fs", "write"]).code, Some(0));
    let listed = home.json(["access", "list", "--agent", "a"]);
    assert_eq!(listed["entries"][0]["justification"], "tests");
    assert_eq!(home.json(["access", "list", "--agent", "b"])["entries"].as_array().unwrap().len(), 0);
    assert_eq!(home.run(["access", "revoke", "a", "fs", "read"]).code, Some(0));
    assert_eq!(home.run(["access", "query", "a", "fs", "read"]).code, Some(0));
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
    assert_eq!(home.run(["pin", "list"]).code, Some(0));
}
