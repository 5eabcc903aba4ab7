//! Tests of start commands.

use proptest::prelude::*;

use super::*;
use crate::config::model::TransportKind;

fn server(json: &str) -> ServerJson {
    ServerJson::parse(json).unwrap()
}

fn package(rest: &str) -> ServerJson {
    server(&format!(
        r#"{{"name": "io.github.x/weather", "description": "Weather", "packages": [{{{rest}}}]}}"#
    ))
}

fn launched(rest: &str, answers: &[(String, String)]) -> PreparedLaunch {
    launch(&package(rest), 0, answers, None).unwrap()
}

fn answers(given: &[(&str, &str)]) -> Vec<(String, String)> {
    given.iter().map(|(name, answer)| ((*name).to_owned(), (*answer).to_owned())).collect()
}

fn refused(rest: &str) -> LaunchError {
    launch(&package(rest), 0, &[], None).unwrap_err()
}

fn is_refused(error: &LaunchError, why: &str) -> bool {
    matches!(error, LaunchError::Refused(reason) if reason.contains(why))
}

#[test]
fn packages_are_started_by_the_program_of_their_registry() {
    for (rest, shown) in [
        (r#""registryType": "npm", "identifier": "@x/w", "version": "1.2.3""#, "npx -y @x/w@1.2.3"),
        (r#""registryType": "npm", "identifier": "w", "version": "1", "runtimeHint": "bunx""#, "bunx w@1"),
        (r#""registryType": "pypi", "identifier": "w", "version": "1.0""#, "uvx w@1.0"),
        (
            r#""registryType": "pypi", "identifier": "w", "version": "1.0", "runtimeHint": "pipx""#,
            "pipx run w==1.0",
        ),
        (
            r#""registryType": "nuget", "identifier": "W.M", "version": "1.0", "packageArguments": [{"type": "positional", "value": "a"}]"#,
            "dnx W.M@1.0 --yes -- a",
        ),
        (r#""registryType": "oci", "identifier": "ghcr.io/x/w:1.0""#, "docker run -i --rm ghcr.io/x/w:1.0"),
        (
            r#""registry_type": "oci", "registry_base_url": "https://docker.io", "identifier": "x/w", "version": "1""#,
            "docker run -i --rm x/w:1",
        ),
        (
            r#""registryType": "npm", "registryBaseUrl": "https://n.example", "identifier": "w", "version": "1""#,
            "npx -y --registry https://n.example w@1",
        ),
    ] {
        assert_eq!(command_line(&launched(rest, &[]).config), shown);
    }
}

#[test]
fn both_generations_say_the_same() {
    let old = r#"{"name": "x/w", "version_detail": {"version": "2"}, "packages": [{"registry_type": "npm", "identifier": "w",
        "version": "2", "runtime_hint": "npx", "runtime_arguments": null,
        "package_arguments": [{"type": "named", "name": "--dir", "value_hint": "dir", "is_required": true}],
        "environment_variables": [{"name": "W_KEY", "is_secret": true, "is_required": true}]}]}"#;
    let new = r#"{"server": {"name": "x/w", "version": "2", "packages": [{"registryType": "npm", "identifier": "w",
        "version": "2", "runtimeHint": "npx", "transport": {"type": "stdio"},
        "packageArguments": [{"type": "named", "name": "--dir", "valueHint": "dir", "isRequired": true}],
        "environmentVariables": [{"name": "W_KEY", "isSecret": true, "isRequired": true}]}]}, "_meta": {}}"#;
    let answers = answers(&[("dir", "/my dir")]);
    let [old, new] = [old, new].map(|json| launch(&server(json), 0, &answers, None).unwrap());
    assert_eq!(old, new);
    assert_eq!(new.config.id, "w");
    assert_eq!(new.config.env["W_KEY"], "${secret:W_W_KEY}");
    assert_eq!(new.secrets, ["W_W_KEY"]);
    assert_eq!(command_line(&new.config), "npx -y w@2 --dir '/my dir'");
}

#[test]
fn what_is_to_be_filled_in_is_listed_and_asked_for() {
    let rest = r#""registryType": "npm", "identifier": "w", "version": "1",
        "packageArguments": [
            {"type": "positional", "valueHint": "file", "isRepeated": true, "isRequired": true, "format": "filepath"},
            {"type": "named", "name": "--level", "default": "info", "choices": ["info", "debug"], "description": "How much"},
            {"type": "named", "name": "--fast", "format": "boolean"},
            {"type": "named", "name": "--stdio"},
            {"type": "positional", "value": "--port={port}", "variables": {"port": {"format": "number", "isRequired": true}}}],
        "environmentVariables": [{"name": "OPTIONAL"}]"#;
    let LaunchError::Missing(needed) = refused(rest) else { panic!() };
    let names: Vec<&str> = needed.iter().map(|needed| needed.name.as_str()).collect();
    assert_eq!(names, ["file", "port"]);

    let answers = answers(&[("file", "a"), ("file", "b"), ("fast", "true"), ("port", "80")]);
    let launch = launched(rest, &answers);
    assert_eq!(command_line(&launch.config), "npx -y w@1 a b --level info --fast --stdio --port=80");
    assert!(launch.config.env.is_empty());
}

#[test]
fn answers_have_to_fit() {
    let rest = r#""registryType": "npm", "identifier": "w", "version": "1",
        "environmentVariables": [{"name": "N", "format": "number"}, {"name": "C", "choices": ["a"]}, {"name": "S", "isSecret": true}]"#;
    for (name, answer) in [("N", "x"), ("C", "b"), ("S", "literal"), ("M", "?"), ("N", "1\u{1b}")] {
        let answers = answers(&[(name, answer)]);
        let refused = launch(&package(rest), 0, &answers, None).unwrap_err();
        assert!(matches!(&refused, LaunchError::BadAnswer { name: of, .. } if of == name), "{refused}");
        assert!(!refused.to_string().contains("literal"));
    }
    let launch = launched(rest, &answers(&[("S", "${secret:MY_S}")]));
    assert_eq!(launch.config.env["S"], "${secret:MY_S}");
}

#[test]
fn containers_get_their_variables_and_tell_what_they_ask_for() {
    let rest = r#""registryType": "oci", "identifier": "docker.io/x/w", "version": "sha256:abc",
        "runtimeArguments": [
            {"type": "named", "name": "--network", "value": "own"},
            {"type": "named", "name": "--mount", "value": "type=bind,src={src},dst=/p", "isRepeated": true,
             "variables": {"src": {"isRequired": true}}},
            {"type": "positional", "value": "--device=/x"}, {"type": "positional", "value": "-v/data:/host"},
            {"type": "positional", "value": "--rm"}, {"type": "named", "name": "--entrypoint", "value": "sh"},
            {"type": "named", "name": "--name", "value": "w"}],
        "environmentVariables": [{"name": "TOKEN", "isSecret": true, "isRequired": true}]"#;
    let launch = launched(rest, &answers(&[("src", "/data")]));
    let shown = command_line(&launch.config);
    assert!(shown.starts_with("docker run -i --rm -e TOKEN --network own --mount "), "{shown}");
    assert!(shown.ends_with(" docker.io/x/w@sha256:abc"), "{shown}");
    assert_eq!(launch.config.env["TOKEN"], "${secret:WEATHER_TOKEN}");
    let kinds: Vec<String> = launch.permissions.iter().map(|request| request.kind.to_owned()).collect();
    assert_eq!(kinds, ["network", "files", "privileges", "files", "an option", "an option"]);
    assert_eq!(launch.permissions[0].words, "--network own");
}

#[test]
fn nothing_hides_among_harmless_options() {
    for (words, expected) in [
        (r#""-it", "-eA=b", "--name", "x""#, 0),
        (r#""-iv", "/data:/host""#, 2),
        (r#""--init", "evil/image""#, 1),
        (r#""--name=x", "evil/image""#, 1),
        (r#""-e", "--gpus""#, 1),
    ] {
        let words: Vec<String> =
            words.split(", ").map(|word| format!(r#"{{"type": "positional", "value": {word}}}"#)).collect();
        let words = words.join(", ");
        let rest = format!(r#""registryType": "oci", "identifier": "x/w:1", "runtimeArguments": [{words}]"#);
        assert_eq!(launched(&rest, &[]).permissions.len(), expected, "{words}");
    }
}

#[test]
fn what_hangs_on_an_answer_that_nobody_gave_is_left_out() {
    let json = r#"{"name": "x/w", "remotes": [{"type": "sse", "url": "{base}/sse",
        "variables": {"base": {"isRequired": true}},
        "headers": [{"name": "Authorization", "value": "Bearer {t}", "variables": {"t": {"isSecret": true}}}]}]}"#;
    let server = server(json);
    let launch = launch(&server, 0, &answers(&[("base", "https://h")]), None).unwrap();
    assert!(launch.config.headers.is_empty());
}

#[test]
fn only_the_package_itself_is_named_to_the_program_that_starts_it() {
    let with = |words: &str| {
        let each: Vec<String> =
            words.split(' ').map(|word| format!(r#"{{"type": "positional", "value": "{word}"}}"#)).collect();
        let each = each.join(", ");
        format!(
            r#""registryType": "pypi", "identifier": "w-mcp", "version": "1.0", "runtimeArguments": [{each}]"#
        )
    };
    for (words, shown) in [
        ("-y", "uvx -y w-mcp@1.0"),
        ("--from w-mcp@1.0 serve", ""),
        ("--from w-mcp@1.0", "uvx --from w-mcp@1.0"),
        ("--package=w-mcp", "uvx --package=w-mcp w-mcp@1.0"),
        ("--from git+https://evil.example/w", ""),
        ("--index-url https://evil.example", ""),
        ("--with other", ""),
        ("--cache /shared", ""),
        ("w-mcp --from other", ""),
    ] {
        match launch(&package(&with(words)), 0, &[], None) {
            Ok(launch) => assert_eq!(command_line(&launch.config), shown, "{words}"),
            Err(refused) => {
                assert!(shown.is_empty() && is_refused(&refused, "other code"), "{words}: {refused}");
            }
        }
    }
}

#[test]
fn names_are_those_that_their_registry_has() {
    let sum = "a".repeat(64);
    let image = format!("ghcr.io/x/w:1.0@sha256:{sum}");
    for (registry, name, version, is_one) in [
        ("npm", "@x/w", "1.2.3-rc.1+b", true),
        ("npm", "w.js", "latest", true),
        ("npm", "x/w", "1", false),
        ("npm", "github:x/w", "1", false),
        ("npm", "https://evil.example/x.tgz", "1", false),
        ("npm", "../w", "1", false),
        ("npm", "w.tgz", "1", false),
        ("npm", "@x", "1", false),
        ("npm", "@x/w/v", "1", false),
        ("npm", "w@npm:other", "1", false),
        ("npm", "w", "npm:other", false),
        ("npm", "w", "https://evil.example/x.tgz", false),
        ("npm", "w", "../x", false),
        ("npm", "w", "1 --x", false),
        ("pypi", "w_m.c-p", "1!2.0.post1", true),
        ("pypi", "git+https://evil.example/w", "1", false),
        ("pypi", "@x/w", "1", false),
        ("pypi", "w@https://evil.example/w", "1", false),
        ("nuget", "W.Mcp", "1.0.0", true),
        ("nuget", "x/w", "1", false),
        ("oci", "localhost:5000/x/w", "1.0", true),
        ("oci", image.as_str(), "", true),
        ("oci", "https://evil.example/x", "1", false),
        ("oci", "../x", "1", false),
        ("oci", "--privileged", "1", false),
    ] {
        let rest = format!(r#""registryType": "{registry}", "identifier": "{name}", "version": "{version}""#);
        let launch = launch(&package(&rest), 0, &[], None);
        assert_eq!(launch.is_ok(), is_one, "{registry} {name} {version}: {launch:?}");
    }
}

#[test]
fn variables_that_decide_which_code_runs_are_left_out_and_it_is_said() {
    let rest = r#""registryType": "npm", "identifier": "w", "version": "1", "environmentVariables": [
        {"name": "npm_config_registry", "value": "https://evil.example"}, {"name": "NODE_OPTIONS", "default": "-r /x"},
        {"name": "PATH", "value": "/x"}, {"name": "LD_PRELOAD", "isRequired": true}, {"name": "https_proxy", "value": "x"},
        {"name": "XDG_CONFIG_HOME", "value": "/x"}, {"name": "UV_INDEX_URL", "value": "x"}, {"name": "UNITS", "value": "metric"}]"#;
    let launch = launched(rest, &[]);
    assert_eq!(launch.config.env.keys().collect::<Vec<_>>(), ["UNITS"]);
    assert_eq!(launch.notes.len(), 7, "{:?}", launch.notes);
    assert!(launch.notes[0].contains("`npm_config_registry` is left out"), "{:?}", launch.notes);
    let manifest = |env: &str| {
        let manifest = format!(
            r#"{{"server": {{"mcp_config": {{"command": "python3", "args": ["s.py"], "env": {{{env}}}}}}}}}"#
        );
        bundled(&manifest, &[]).unwrap().config.env
    };
    assert_eq!(manifest(r#""PYTHONPATH": "${__dirname}/lib""#)["PYTHONPATH"], "/data/w/lib");
    for env in [
        r#""PYTHONPATH": "${__dirname}/../x""#,
        r#""PYTHONPATH": "/x""#,
        r#""LD_PRELOAD": "${__dirname}/x.so /x.so""#,
        r#""PYTHONSTARTUP": "${__dirname}/x""#,
    ] {
        assert!(manifest(env).is_empty(), "{env}");
    }
}

#[test]
fn a_package_says_from_which_address_it_comes() {
    let of = |registry: &str, name: &str, base: &str| {
        let rest =
            format!(r#""registryType": "{registry}", "identifier": "{name}", "registryBaseUrl": "{base}""#);
        let launch = launched(&rest, &[]);
        (launch.foreign_registry, launch.address)
    };
    let own = concat!("https://registry.", "npmjs.org");
    assert_eq!(of("npm", "w", &format!("{own}/")), (None, None));
    let foreign = |url: &str| (Some(url.to_owned()), None);
    assert_eq!(of("npm", "w", &format!("{own}.evil.example")), foreign(&format!("{own}.evil.example")));
    assert_eq!(of("pypi", "w", "https://evil.example"), foreign("https://evil.example/simple"));
    let image = |host: &str| (None, Some(format!("https://{host}")));
    assert_eq!(of("oci", "ghcr.io/x/w:1", ""), image("ghcr.io"));
    assert_eq!(of("oci", "127.0.0.1:5000/x/w:1", ""), image("127.0.0.1:5000"));
    assert_eq!(of("oci", "x/w:1", "https://docker.io"), (None, None));
}

#[test]
fn options_that_open_the_machine_or_run_other_code_are_refused() {
    for (registry, words) in [
        ("oci", r#""--privileged""#),
        ("oci", r#""--privileged=true""#),
        ("oci", r#""--network", "host""#),
        ("oci", r#""--net=host""#),
        ("oci", r#""--pid=Host""#),
        ("oci", r#""--cap-add", "ALL""#),
        ("oci", r#""-v/:/host""#),
        ("oci", r#""-iv", "/:/host""#),
        ("oci", r#""-v", "/./:/host""#),
        ("oci", r#""--volume=/etc:/e""#),
        ("oci", r#""-v", "/x/../etc:/e""#),
        ("oci", r#""-v", "/var/run/docker.sock:/s""#),
        ("oci", r#""--mount", "type=bind,source=/,target=/h""#),
        ("oci", r#""--mount=src=/x/podman.sock,target=/h""#),
        ("oci", r#""--mount", "type=bind,\"src=/\",dst=/h""#),
        ("oci", r#""--mount=type=bind,SRC=/etc,dst=/h""#),
        (
            "oci",
            r#""--mount", "type=volume,dst=/h,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/""#,
        ),
        ("oci", r#""--cap-add=DAC_READ_SEARCH""#),
        ("npm", r#""-c", "rm -rf ~""#),
        ("npm", r#""--node-options=--import=data:x""#),
        ("npm", r#""--registry", "https://evil.example""#),
    ] {
        let each: Vec<String> =
            words.split(", ").map(|word| format!(r#"{{"type": "positional", "value": {word}}}"#)).collect();
        let each = each.join(", ");
        let rest = format!(
            r#""registryType": "{registry}", "identifier": "x", "version": "1", "runtimeArguments": [{each}]"#
        );
        let why = if registry == "oci" { "opens the machine" } else { "other code" };
        assert!(is_refused(&refused(&rest), why), "{words}: {}", refused(&rest));
    }
    let rest = r#""registryType": "npm", "identifier": "w", "version": "1", "packageArguments": [{"type": "positional", "value": "; rm -rf ~"}]"#;
    assert_eq!(launched(rest, &[]).config.args.last().unwrap(), "; rm -rf ~", "no shell reads it");
}

#[test]
fn documents_cannot_choose_programs_inject_options_or_reach_into_the_environment() {
    let base = r#""registryType": "npm", "identifier": "w", "version": "1", "#;
    let refused_with = |rest: &str| refused(&format!("{base}{rest}"));
    assert!(is_refused(&refused_with(r#""runtimeHint": "sh""#), "`sh` is not used for packages from npm"));
    let env = r#""environmentVariables": [{"name": "A", "value": "${AWS_SECRET_ACCESS_KEY}"}]"#;
    assert!(is_refused(&refused_with(env), "refers to the environment"));
    let env = r#""environmentVariables": [{"name": "A", "default": "${AWS_SECRET_ACCESS_KEY}"}]"#;
    assert!(is_refused(&refused_with(env), "refers to the environment"));
    let env = r#""environmentVariables": [{"name": "A=B", "value": "x"}]"#;
    assert!(is_refused(&refused_with(env), "`A=B` is no name of a variable"));
    for name in ["--call=x", "w; rm", "", "-c", "w\u{202e}"] {
        let rest = format!(r#""registryType": "npm", "identifier": "{name}", "version": "1""#);
        assert!(is_refused(&refused(&rest), "is no name of a package"), "{name}");
    }
}

#[test]
fn bundles_have_to_come_with_a_digest() {
    let rest = r#""registryType": "mcpb", "identifier": "https://h/w.mcpb", "version": "1""#;
    let lacking = package(rest).bundle(0).unwrap_err();
    assert!(lacking.to_string().contains("fileSha256"), "{lacking}");
    let sum = "A".repeat(64);
    let server = package(&format!(r#"{rest}, "fileSha256": "{sum}""#));
    assert_eq!(server.bundle(0), Ok(Some(("https://h/w.mcpb", "a".repeat(64)))));
    assert_eq!(server.bundle(1), Ok(None));
}

fn bundled(manifest: &str, given: &[(&str, &str)]) -> Result<PreparedLaunch, LaunchError> {
    let server = package(r#""registryType": "mcpb", "identifier": "https://h/w.mcpb""#);
    launch(&server, 0, &answers(given), Some((manifest, Path::new("/data/w"))))
}

#[test]
fn a_bundle_is_started_in_its_folder_as_its_manifest_says() {
    let manifest = r#"{"server": {"type": "node", "entry_point": "s.js", "mcp_config": {
        "command": "node", "args": ["${__dirname}/s.js", "${user_config.dirs}", "--level=${user_config.level}"],
        "env": {"KEY": "${user_config.key}", "HOME_DIR": "${HOME}/x", "NONE": "${user_config.none}"}}},
        "user_config": {"dirs": {"type": "directory", "multiple": true, "required": true, "default": ["${HOME}"]},
            "level": {"type": "number", "default": 3}, "none": {"type": "string"},
            "key": {"type": "string", "sensitive": true, "required": true}}}"#;
    let LaunchError::Missing(needed) = bundled(manifest, &[]).unwrap_err() else { panic!() };
    assert_eq!(needed[0].name, "dirs");
    let launch = bundled(manifest, &[("dirs", "/a"), ("dirs", "/b")]).unwrap();
    assert_eq!(command_line(&launch.config), "node /data/w/s.js /a /b --level=3");
    assert_eq!(launch.config.cwd.as_deref(), Some("/data/w"));
    assert_eq!(launch.config.env["KEY"], "${secret:WEATHER_KEY}");
    assert_eq!(launch.config.env["HOME_DIR"], "${HOME}/x");
    assert!(!launch.config.env.contains_key("NONE"));
    let own = r#"{"server": {"type": "binary", "mcp_config": {"command": "bin/server"}}}"#;
    assert_eq!(command_line(&bundled(own, &[]).unwrap().config), "/data/w/bin/server");
    let several = r#"{"server": {"mcp_config": {"command": "uv", "args": ["a"], "platform_overrides": {
        "linux": {"args": ["b"]}, "darwin": {"args": ["b"]}, "win32": {"args": ["b"]}}}}}"#;
    assert_eq!(command_line(&bundled(several, &[]).unwrap().config), "uv b");
}

#[test]
fn a_bundle_starts_nothing_else_and_refers_to_no_variable() {
    for (command, args, why) in [
        ("/bin/sh", "", "none of its files"),
        ("../sh", "", "none of its files"),
        ("${__dirname}/../sh", "", "none of its files"),
        ("node", "${AWS_SECRET_ACCESS_KEY}", "refers to the environment"),
        ("node", "${user_config.other}", "refers to the environment"),
        ("node", "${", "refers to the environment"),
    ] {
        let manifest = format!(
            r#"{{"server": {{"type": "node", "mcp_config": {{"command": "{command}", "args": ["{args}"]}}}}}}"#
        );
        let refused = bundled(&manifest, &[]).unwrap_err();
        assert!(is_refused(&refused, why), "{command} {args}: {refused}");
    }
    // A name without a folder is a file of the bundle, never a program of the system.
    let own = r#"{"server": {"type": "node", "mcp_config": {"command": "sh"}}}"#;
    assert_eq!(bundled(own, &[]).unwrap().config.command.as_deref(), Some("/data/w/sh"));
    assert!(matches!(bundled("{", &[]), Err(LaunchError::Document { .. })));
    assert!(bundled(r#"{"server": {"type": "node"}}"#, &[]).is_err());
}

#[test]
fn a_bundle_for_other_systems_is_refused_with_their_names() {
    let manifest = |platforms: &str| {
        format!(
            r#"{{"server": {{"mcp_config": {{"command": "node"}}}}, "compatibility": {{"platforms": [{platforms}]}}}}"#
        )
    };
    let refused = bundled(&manifest(r#""plan9", "amiga""#), &[]).unwrap_err();
    assert!(is_refused(&refused, "the bundle is for plan9, amiga, and not for"), "{refused}");
    assert!(bundled(&manifest(r#""plan9", "linux", "darwin", "win32""#), &[]).is_ok());
    assert!(bundled(&manifest(""), &[]).is_ok());
}

#[test]
fn remotes_are_reached_with_headers_and_variables() {
    let json = r#"{"name": "x/w", "remotes": [
        {"type": "streamable-http", "url": "https://{tenant}.h/mcp", "variables": {"tenant": {"default": "eu"}},
         "headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isSecret": true, "isRequired": true}}},
                     {"name": "X-Plain", "isSecret": true, "isRequired": true}]},
        {"transport_type": "sse", "url": "http://h/sse"}, {"type": "sse", "url": "file:///etc/passwd"}]}"#;
    let server = server(json);
    assert_eq!(server.ways(), 3);
    let first = launch(&server, 0, &answers(&[("tenant", "us")]), None).unwrap();
    assert_eq!(first.config.url.as_deref(), Some("https://us.h/mcp"));
    assert_eq!(first.config.headers["Authorization"], "Bearer ${secret:W_TOKEN}");
    assert_eq!(first.config.headers["X-Plain"], "${secret:W_X_PLAIN}");
    assert_eq!(first.secrets, ["W_TOKEN", "W_X_PLAIN"]);
    let second = launch(&server, 1, &[], None).unwrap();
    assert_eq!(second.config.transport, Some(TransportKind::Sse));
    assert_eq!(second.notes.len(), 1);
    assert!(launch(&server, 2, &[], None).is_err());
    assert!(matches!(launch(&server, 3, &[], None), Err(LaunchError::NoSuchWay(_))));
}

#[test]
fn hidden_characters_are_shown() {
    let rest = "\"registryType\": \"npm\", \"identifier\": \"w\", \"packageArguments\": [{\"type\": \"positional\", \"value\": \"a\u{202e}b\"}]";
    let launch = launched(rest, &[]);
    assert_eq!(command_line(&launch.config), r"npx -y w 'a\u{202e}b'");
    assert_eq!(launch.notes.len(), 1);
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    let refused = ServerJson::parse("{\n\"name\": 3}").unwrap_err();
    assert!(matches!(refused, LaunchError::Document { line: 2, .. }), "{refused}");
    assert!(ServerJson::parse(&" ".repeat(2 << 20)).is_err());
}

proptest! {
    #[test]
    fn no_document_makes_launching_panic(
        registry in prop::sample::select(vec!["npm", "pypi", "nuget", "oci", "mcpb", "cargo"]),
        identifier in ".{0,12}", value in ".{0,20}", option in "-{0,2}.{0,8}", hint in prop::option::of("[a-z]{1,4}"),
        url in ".{0,30}", required: bool, secret: bool, template in "[a-z${}]{0,12}",
    ) {
        let json = serde_json::json!({
            "name": identifier,
            "packages": [{
                "registryType": registry, "identifier": identifier, "version": value, "registryBaseUrl": url,
                "runtimeArguments": [
                    {"type": "named", "name": option, "value": value}, {"type": "positional", "value": option},
                    {"type": "positional", "valueHint": hint, "isRequired": required, "isSecret": secret}],
                "packageArguments": [{"type": "positional", "value": template, "variables": {"a": {"value": value}, "": {}}}],
                "environmentVariables": [{"name": option, "isSecret": secret, "isRequired": required}],
            }, {"registryType": registry, "identifier": "w", "version": "1",
                "runtimeArguments": [{"type": "positional", "value": option}, {"type": "named", "name": option, "value": value}]}],
            "remotes": [{"type": "sse", "url": format!("https://{template}"), "variables": {"a": {"isSecret": secret}},
                "headers": [{"name": option, "value": value}]}],
        });
        let server = ServerJson::parse(&json.to_string()).unwrap();
        for way in 0..server.ways() {
            if let Ok(launch) = launch(&server, way, &[], None) {
                prop_assert!(launch.config.command.is_some() != launch.config.url.is_some());
                prop_assert!(!command_line(&launch.config).contains(char::is_control));
            }
        }
    }

    #[test]
    fn no_text_makes_parsing_panic(text in "[\\[\\]{}\":,a-z0-9 \\\\]{0,60}") {
        let _ = ServerJson::parse(&text);
    }
}
