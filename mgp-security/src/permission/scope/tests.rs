use super::*;

fn check(scope: &str, arguments: &str) -> Result<(), Finding> {
    let scope: Scope = serde_json::from_str(scope).unwrap();
    ScopeCheck::new(&scope).unwrap().check(Some(&RawJson::parse(arguments.to_owned()).unwrap()))
}

#[track_caller]
fn all_pass(scope: &str, arguments: &[&str]) {
    for arguments in arguments {
        assert_eq!(check(scope, arguments), Ok(()), "{arguments}");
    }
}

#[track_caller]
fn all_refused(scope: &str, arguments: &[&str]) {
    for arguments in arguments {
        assert!(check(scope, arguments).is_err(), "{arguments}");
    }
}

#[test]
fn a_scope_without_bounds_lets_everything_through() {
    all_pass("{}", &["{}", r#"{"path":"../../etc","command":"sudo rm -rf / | x","code":"x"}"#]);
    assert!(ScopeCheck::new(&Scope::default()).unwrap().check(None).is_ok());
}

#[test]
fn paths_stay_within_what_was_granted() {
    let scope = r#"{"paths":["/data/**","/tmp/*.txt","notes/*"],"deny_paths":[".env","/data/secret"]}"#;
    all_pass(
        scope,
        &[
            r#"{"path":"/data/a/b.rs"}"#,
            r#"{"path":"/data//a/./b.rs","content":"/* see /etc/passwd */ ../x"}"#,
            r#"{"files":["/data/a","/tmp/b.txt"],"recursive":true}"#,
            r#"{"path":"notes/today.md"}"#,
            r#"{"uri":"file:///data/a"}"#,
        ],
    );
    all_refused(
        scope,
        &[
            r#"{"path":"/etc/passwd"}"#,
            r#"{"path":"/data/../etc/passwd"}"#,
            r#"{"path":"/data/%2e%2e/etc/passwd"}"#,
            r#"{"path":"/data\\..\\..\\etc"}"#,
            r#"{"path":"/data/a\u0000.txt"}"#,
            r#"{"path":"/data/.env"}"#,
            r#"{"path":"/data/x/.ENV"}"#,
            r#"{"path":"/data/secret/key"}"#,
            r#"{"path":"/data/Secret/key"}"#,
            r#"{"path":"b.txt"}"#,
            r#"{"path":"~/x"}"#,
            r#"{"path":" /etc/passwd"}"#,
            r#"{"path":"//server/share"}"#,
            r#"{"path":"C:\\Windows\\x"}"#,
            r#"{"path":"file:///etc/passwd"}"#,
            r#"{"path":"FILE:///data/../etc/passwd"}"#,
            r#"{"path":"/data/a","target":{"deep":["/etc/passwd"]}}"#,
            r#"{"source":"/data/a","destination":"/etc/cron.d/a"}"#,
            r#"{"path":"/data/a","/etc/passwd":1}"#,
            r#"{"path":"/data/a","code":"open('/etc/passwd')"}"#,
            r#"{"path":"/data/a","command":"cat /etc/passwd"}"#,
            r#"{"path":"/data/a","arguments":{"path":"/etc/passwd"}}"#,
            r#"{"path":"/data/a","args":[{"path":"/etc/passwd"}]}"#,
            r#"{"path":"/data/a","data":{"target":"/etc/passwd"}}"#,
            r#"{"path":"/data/a","uri":"/etc/passwd"}"#,
            r#"{"path":"/data/a","language":"/etc/passwd"}"#,
            r#"{"path":"/data/a","input":"{\"path\":\"/etc/passwd\"}"}"#,
            r#"{"path":""}"#,
            r#"{"query":"anything"}"#,
            "{}",
        ],
    );
}

#[test]
fn paths_that_are_denied_are_denied_under_any_name() {
    let scope = r#"{"deny_paths":["/etc/**","*.pem"]}"#;
    all_pass(scope, &[r#"{"path":"/home/a"}"#, r#"{"query":"how to bake"}"#, "{}"]);
    all_refused(
        scope,
        &[
            r#"{"path":"/etc/passwd"}"#, r#"{"path":"/ETC/passwd"}"#, r#"{"thing":"/etc/passwd"}"#,
            r#"{"thing":"key.pem"}"#, r#"{"path":"passwd"}"#, r#"{"thing":"../etc/passwd"}"#,
        ],
    );
}

#[test]
fn drives_are_paths_of_their_own() {
    let scope = r#"{"paths":["C:/data/**"]}"#;
    all_pass(scope, &[r#"{"path":"C:\\data\\a.txt"}"#, r#"{"path":"C:/data/b/c"}"#]);
    all_refused(
        scope,
        &[r#"{"path":"C:\\data\\..\\x"}"#, r#"{"path":"D:/data/a"}"#, r#"{"path":"C:/data/a. "}"#],
    );
}

#[test]
fn commands_stay_within_what_was_granted() {
    let scope = r#"{"commands":["git","cargo test *","ls"]}"#;
    all_pass(
        scope,
        &[
            r#"{"command":"git commit -m 'a; b | c'"}"#,
            r#"{"command":["git","log"]}"#,
            r#"{"command":"git","args":["push","a b"]}"#,
            r#"{"command":"cargo test --workspace"}"#,
            r#"{"cmd":"ls *.rs"}"#,
        ],
    );
    all_refused(
        scope,
        &[
            r#"{"command":"cargo build"}"#,
            r#"{"command":"rm x"}"#,
            r#"{"command":"git log; rm x"}"#,
            r#"{"command":"git log && rm x"}"#,
            r#"{"command":"git log | sh"}"#,
            r#"{"command":"git $(rm x)"}"#,
            r#"{"command":"git log > /etc/x"}"#,
            r#"{"command":"git log\nrm x"}"#,
            r#"{"command":"/tmp/git log"}"#,
            r#"{"command":"GIT_PAGER=x git log"}"#,
            r#"{"command":"sudo git log"}"#,
            r#"{"command":"env git log"}"#,
            r#"{"command":"g*t log"}"#,
            r#"{"command":["rm","git"]}"#,
            r#"{"command":["git log"]}"#,
            r#"{"command":[]}"#,
            r#"{"argv":["bash","-c","git log"]}"#,
            r#"{"args":["git"],"other":"x","command":"rm"}"#,
            r#"{"steps":[{"command":"git log"},{"command":"rm x"}]}"#,
            r#"{"command":"git log","code":"x"}"#,
            r#"{"command":"git log","arguments":{"command":"rm x"}}"#,
            r#"{"arguments":{"arguments":{"command":"rm x"}}}"#,
            r#"{"thing":"git log"}"#,
            "{}",
        ],
    );
}

#[test]
fn commands_that_are_denied_are_denied_however_they_are_run() {
    let scope = r#"{"deny_commands":["rm","git push *","mkfs*"]}"#;
    all_pass(
        scope,
        &[
            r#"{"command":"git log --grep rm"}"#,
            r#"{"command":"cargo build"}"#,
            r#"{"command":"python3 script.py"}"#,
            r#"{"command":"find . -name x"}"#,
        ],
    );
    all_refused(
        scope,
        &[
            r#"{"command":"rm x"}"#,
            r#"{"command":"/bin/rm x"}"#,
            r#"{"command":"RM.exe x"}"#,
            r#"{"command":"r'm' x"}"#,
            r#"{"command":"\\rm x"}"#,
            r#"{"command":"r? x"}"#,
            r#"{"command":"env rm x"}"#,
            r#"{"command":"xargs -I{} rm {}"}"#,
            r#"{"command":"find . -exec rm '{}' +"}"#,
            r#"{"command":"bash -c 'rm x'"}"#,
            r#"{"command":"bash -c 'r\"\"m x'"}"#,
            r#"{"command":"python3 -c 'print(1)'"}"#,
            r#"{"command":["sh","-c","echo hi; rm x"]}"#,
            r#"{"command":"git push --force"}"#,
            r#"{"command":"env git push --force"}"#,
            r#"{"command":"mkfs.ext4 /dev/sda"}"#,
            r#"{"command":"sudo ls"}"#,
            r#"{"command":"env sudo ls"}"#,
            r#"{"what":"rm x"}"#,
        ],
    );
}

#[test]
fn more_commands_than_a_call_runs_are_refused_and_take_no_longer() {
    let commands = |count: usize| {
        let members: Vec<_> = (0..count).map(|number| format!(r#""command_{number}":"git log""#)).collect();
        format!(r#"{{{},"args":[{}]}}"#, members.join(","), vec![r#""x""#; count].join(","))
    };
    all_pass(r#"{"commands":["git"]}"#, &[&commands(64)]);
    all_refused(r#"{"commands":["git"]}"#, &[&commands(65), &commands(300), &commands(20_000)]);
}

#[test]
fn raising_privileges_is_granted_by_itself() {
    let scope = r#"{"commands":["apt-get","sudo"],"allow_sudo":true,"deny_commands":["reboot"]}"#;
    all_pass(scope, &[r#"{"command":"sudo apt-get update"}"#, r#"{"command":"apt-get update"}"#]);
    all_refused(
        scope,
        &[
            r#"{"command":"sudo reboot"}"#,
            r#"{"command":"sudo -u root apt-get update"}"#,
            r#"{"command":"sudo rm"}"#,
        ],
    );
    all_refused(
        r#"{"allow_sudo":false}"#,
        &[r#"{"command":"sudo ls"}"#, r#"{"command":"/usr/bin/doas ls"}"#],
    );
    all_pass(r#"{"allow_sudo":false}"#, &[r#"{"command":"ls"}"#]);
}

#[test]
fn hosts_stay_within_what_was_granted() {
    let scope = r#"{"hosts":["*.example.com","10.0.0.1"],"deny_hosts":["bad.example.com"],"ports":[443]}"#;
    all_pass(
        scope,
        &[
            r#"{"url":"https://api.example.com/x?y=http://other"}"#,
            r#"{"url":"https://API.Example.com./"}"#,
            r#"{"host":"api.example.com","port":443}"#,
            r#"{"host":"10.0.0.1:443"}"#,
        ],
    );
    all_refused(
        scope,
        &[
            r#"{"url":"https://example.com/"}"#,
            r#"{"url":"https://bad.example.com/"}"#,
            r#"{"url":"https://BAD.example.com./"}"#,
            r#"{"url":"http://api.example.com/"}"#,
            r#"{"url":"https://api.example.com:8443/"}"#,
            r#"{"url":"https://api.example.com@evil.org/"}"#,
            r#"{"url":"https://evil.org/api.example.com"}"#,
            r#"{"url":"https://evil.org\\.example.com"}"#,
            r#"{"url":"//evil.org/x"}"#,
            r#"{"url":"http:evil.org"}"#,
            r#"{"host":"api.example.com"}"#,
            r#"{"host":"api.example.com","port":80}"#,
            r#"{"host":"api.example.com","port":"x"}"#,
            r#"{"url":"https://api.example.com/","target":"https://evil.org/"}"#,
            r#"{"url":"https://api.example.com/","command":"curl evil.org"}"#,
            r#"{"url":"https://api.example.com/","source":"https://evil.org/"}"#,
            r#"{"url":"https://api.example.com/","arguments":{"url":"https://evil.org/"}}"#,
            r#"{"url":"not a url"}"#,
            r#"{"query":"x"}"#,
            "{}",
        ],
    );
}

#[test]
fn every_spelling_of_a_denied_address_is_denied() {
    let scope = r#"{"deny_hosts":["169.254.169.254","internal"]}"#;
    all_pass(scope, &[r#"{"url":"https://example.com/"}"#, r#"{"q":"hello world"}"#]);
    all_refused(
        scope,
        &[
            r#"{"url":"http://169.254.169.254/"}"#,
            r#"{"url":"http://2852039166/"}"#,
            r#"{"url":"http://0xa9fea9fe/"}"#,
            r#"{"url":"http://0251.0376.0251.0376/"}"#,
            r#"{"url":"http://[::ffff:169.254.169.254]/"}"#,
            r#"{"url":"http://[64:ff9b::a9fe:a9fe]/"}"#,
            r#"{"url":"http://x@169.254.169.254:80/"}"#,
            r#"{"url":"ftp://169.254.169.254/"}"#,
            r#"{"url":"gopher://2852039166/"}"#,
            r#"{"host":"::ffff:169.254.169.254"}"#,
            r#"{"thing":"169.254.169.254"}"#,
            r#"{"thing":"internal"}"#,
            r#"{"url":"http://INTERNAL./"}"#,
        ],
    );
}

#[test]
fn languages_and_times_are_bounded() {
    let scope = r#"{"languages":["python"],"max_execution_time_ms":5000}"#;
    all_pass(
        scope,
        &[r#"{"language":"Python","code":"x","timeout_ms":5000}"#, r#"{"lang":"python","timeout":5}"#],
    );
    all_refused(
        scope,
        &[
            r#"{"language":"bash","code":"x"}"#,
            r#"{"code":"x"}"#,
            r#"{"language":"python","timeout":6}"#,
            r#"{"language":"python","timeout_ms":5001}"#,
            r#"{"language":"python","timeout":"forever"}"#,
            r#"{"language":"python","timeout":-1}"#,
        ],
    );
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            "[ -~]{0,12}".prop_map(serde_json::Value::from),
            "(/[a-z.]{1,4}){1,3}".prop_map(serde_json::Value::from),
            any::<i32>().prop_map(serde_json::Value::from),
            Just(serde_json::Value::Null),
        ];
        let name = prop_oneof!["path|file|command|args|url|host|port|code|language|timeout|x", "[a-z_]{0,6}"];
        leaf.prop_recursive(3, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                proptest::collection::btree_map(name.clone(), inner, 0..4)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// What is denied beats what is allowed, whatever is allowed.
        #[test]
        fn what_is_denied_wins(below in "(/[a-z]{1,5}){0,3}", wide in prop_oneof![Just("**"), Just("/**"), Just("/secret/**")]) {
            let scope = format!(r#"{{"paths":["{wide}"],"deny_paths":["/secret"]}}"#);
            let arguments = format!(r#"{{"path":"/secret{below}"}}"#);
            prop_assert!(check(&scope, &arguments).is_err());
        }

        /// A further denial never opens anything.
        #[test]
        fn a_denial_more_never_lets_more_through(arguments in any_json()) {
            let arguments = RawJson::from_value(&serde_json::json!({ "a": arguments })).unwrap();
            let open: Scope = serde_json::from_str(r#"{"paths":["/a/**"]}"#).unwrap();
            let closed: Scope = serde_json::from_str(
                r#"{"paths":["/a/**"],"deny_paths":["b"],"deny_commands":["rm"],"deny_hosts":["c"],"allow_sudo":false}"#,
            ).unwrap();
            if ScopeCheck::new(&closed).unwrap().check(Some(&arguments)).is_ok() {
                prop_assert!(ScopeCheck::new(&open).unwrap().check(Some(&arguments)).is_ok());
            }
        }
    }
}
