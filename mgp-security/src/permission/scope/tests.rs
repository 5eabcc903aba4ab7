use super::*;

fn check(scope: &str, arguments: &str) -> Result<(), Finding> {
    let scope: Scope = serde_json::from_str(scope).unwrap();
    ScopeCheck::new(&scope).unwrap().check(Some(&RawJson::parse(arguments.to_owned()).unwrap()))
}

#[test]
fn arguments_stay_within_what_was_granted() {
    let mut scope = "";
    for row in include_str!("cases.txt").lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        match row.split_once(' ').unwrap() {
            ("scope", bounds) => scope = bounds,
            ("+", arguments) => assert_eq!(check(scope, arguments), Ok(()), "{arguments}"),
            (_, arguments) => assert!(check(scope, arguments).is_err(), "{scope} {arguments}"),
        }
    }
    assert!(ScopeCheck::new(&Scope::default()).unwrap().check(None).is_ok());
}

#[test]
fn more_commands_than_a_call_runs_are_refused_and_take_no_longer() {
    let commands = |count: usize| {
        let members: Vec<_> = (0..count).map(|number| format!(r#""command_{number}":"git log""#)).collect();
        format!(r#"{{{},"args":[{}]}}"#, members.join(","), vec![r#""x""#; count].join(","))
    };
    let scope = r#"{"commands":["git"]}"#;
    assert_eq!(check(scope, &commands(64)), Ok(()));
    for count in [65, 300, 20_000] {
        assert!(check(scope, &commands(count)).is_err(), "{count}");
    }
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
