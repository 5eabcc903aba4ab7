//! What servers are given of the environment, and what they miss.

use std::collections::BTreeMap;

use crate::home::Home;

/// A home with a server that works, and writes its environment to a file before that.
fn telling(lines: &str) -> Home {
    let home = Home::new();
    let [program, file] = home.clock();
    let script = format!("env >'{}'; exec {program} \"$0\"", home.path("environment").display());
    let args = serde_json::json!(["-c", script, file]);
    home.write(
        "mgp.toml",
        &format!("{lines}\n[[servers]]\nid = \"clock\"\ncommand = \"sh\"\nargs = {args}\n"),
    );
    home
}

#[test]
fn servers_are_given_proxies_certificates_and_what_pass_env_names() {
    let home = telling("pass_env = [\"CORP_*\", \"!SSL_CERT_DIR\", \"MGP_*\"]");
    let mut command = home.command(["tools"]);
    for name in ["HTTPS_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "CORP_ZONE", "OTHER_TOKEN"]
    {
        command.env(name, "/set");
    }
    let ran = Home::ran(command, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = home.read("environment");
    let given: BTreeMap<_, _> = text.lines().filter_map(|line| line.split_once('=')).collect();
    for name in ["HTTPS_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS", "CORP_ZONE", "PATH", "HOME"] {
        assert!(given.contains_key(name), "{name}: {text}");
    }
    for name in ["SSL_CERT_DIR", "OTHER_TOKEN", "MGP_OPERATORS_TOKEN", "MGP_CONFIG_PATH"] {
        assert!(!given.contains_key(name), "{name}: {text}");
    }
}

#[test]
fn doctor_names_variables_that_servers_probably_miss() {
    let home = Home::new();
    let script = r#"echo "Error: HUB_API_KEY environment variable is required" >&2; exit 1"#;
    home.json(["add", "hub", "--", "sh", "-c", script]);
    home.add_server("weather", &home.clock());
    let mut command = home.command(["doctor"]);
    command.env("WEATHER_TOKEN", "s3cret");
    let ran = Home::ran(command, "");
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.out.contains("hub is not given HUB_API_KEY") && ran.out.contains("`mgp secrets set HUB_API_KEY`"),
        "{ran:?}"
    );
    assert!(ran.out.contains("ok  environment: weather is not given WEATHER_TOKEN"), "{ran:?}");
    assert!(!ran.out.contains("s3cret"), "{ran:?}");
}
