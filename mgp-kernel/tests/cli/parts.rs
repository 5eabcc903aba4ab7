//! The parts of `mgp` that a build may lack, and embedders that `mgp.toml` may name.

use crate::home::Home;

#[test]
fn a_model_that_an_earlier_version_downloaded_is_left_alone() {
    let home = Home::with_state();
    home.write(".local/share/mgp/models/all-MiniLM-L6-v2/model.safetensors", "");
    let ran = home.run(["--json", "doctor"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let embedder = findings.iter().find(|finding| finding["what"] == "embedder").unwrap();
    assert_eq!(embedder["ok"], true);
    assert_eq!(embedder["told"], "the built-in table of words");
}

#[test]
fn an_encoder_that_mgp_no_longer_has_is_refused_with_what_to_write_instead() {
    let home = Home::new();
    home.write("mgp.toml", "[tools]\nembedder = \"encoder:/models\"\n");
    for args in [["config", "check"], ["serve", "--foreground"]] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("tools.embedder") && ran.err.contains("the feature `fastembed`"), "{ran:?}");
    }
}

#[cfg(not(any(feature = "cluster", feature = "sso", feature = "self-update")))]
#[test]
fn a_part_that_this_build_lacks_is_named_where_it_is_used() {
    let home = Home::new();
    for (lines, feature) in [
        ("[store]\nurl = 'postgres://h/d'\nkey = 'k'\n", "cluster"),
        (
            "[listen]\npublic_url = 'https://h/mcp'\n[listen.oauth]\nissuers = [{ issuer = 'https://id.example' }]\n",
            "sso",
        ),
    ] {
        home.write("mgp.toml", lines);
        for args in [["config", "check"], ["serve", "--foreground"]] {
            let ran = home.run(args);
            assert!(ran.code == Some(1) && ran.err.contains(&format!("--features {feature}")), "{ran:?}");
        }
    }
    let absent = home.run(["self", "check"]);
    assert!(absent.code == Some(1) && absent.err.contains("--features self-update"), "{absent:?}");
    let help = home.run(["--help"]).out;
    assert!(help.contains("no `store`: it needs the feature `cluster`"), "{help}");
}

#[cfg(not(feature = "fastembed"))]
#[test]
fn an_embedder_that_this_build_lacks_is_refused_by_the_check_as_by_the_kernel() {
    let home = Home::new();
    home.write("mgp.toml", "[tools]\nembedder = \"fastembed:/models\"\n");
    for args in [["config", "check"], ["serve", "--foreground"]] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.err.contains("this build has no such embedder; build `mgp` with `--features fastembed`"),
            "{ran:?}"
        );
    }
}
