//! Destroying what is larger than files: volumes, pools, databases, buckets, clusters.

use crate::Finding;

use super::super::finding::{REFUSE_DEVICE, REFUSE_RECURSIVE_DELETE, refuse};
use super::Call;

pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
    if destroys_storage(call) {
        return Err(refuse(REFUSE_DEVICE));
    }
    if destroys_data(call) {
        return Err(refuse(REFUSE_RECURSIVE_DELETE));
    }
    Ok(())
}

/// The layers between disks and files.
fn destroys_storage(call: &Call<'_>) -> bool {
    let any = |texts: &[&str]| call.args.iter().any(|arg| texts.contains(&arg.text.as_str()));
    let asks = any(&["--help", "-h", "--version", "-n", "--dry-run", "--test", "-t"]);
    match call.program {
        "lvremove" | "vgremove" | "pvremove" => !asks,
        "lvm" => any(&["lvremove", "vgremove", "pvremove"]) && !asks,
        "zpool" => matches!(call.verb(), "destroy" | "labelclear"),
        "zfs" => call.verb() == "destroy" && !asks,
        "cryptsetup" => {
            any(&["luksFormat", "luksErase", "erase", "luksKillSlot", "luksRemoveKey", "reencrypt"])
        }
        "mdadm" => any(&["--zero-superblock", "--zero-superblocks"]),
        "nvme" => matches!(call.verb(), "format" | "sanitize" | "write-zeroes" | "delete-ns"),
        "sfdisk" => any(&["--delete", "--wipe=always"]),
        "sg_format" | "dmsetup" => call.program == "sg_format" || any(&["wipe_table"]),
        "diskutil" => {
            let verb = call.verb().to_ascii_lowercase();
            verb.starts_with("erase")
                || matches!(
                    verb.as_str(),
                    "zerodisk" | "randomdisk" | "secureerase" | "partitiondisk" | "reformat"
                )
        }
        _ => false,
    }
}

/// Whole databases, buckets, namespaces and deployments.
fn destroys_data(call: &Call<'_>) -> bool {
    let any = |texts: &[&str]| call.args.iter().any(|arg| texts.contains(&arg.text.as_str()));
    let held = || call.args.iter().map(|arg| arg.text.to_ascii_lowercase());
    match call.program {
        "dropdb" => !any(&["--help", "--version"]),
        "mysqladmin" | "mariadb-admin" => any(&["drop"]),
        "psql" | "mysql" | "mariadb" | "sqlcmd" | "clickhouse-client" | "cqlsh" => {
            held().any(|text| drops_database(&text))
        }
        "redis-cli" | "valkey-cli" => held().any(|text| matches!(text.as_str(), "flushall" | "flushdb")),
        "mongo" | "mongosh" => held().any(|text| text.contains("dropdatabase(")),
        "kubectl" | "oc" => {
            call.verb() == "delete"
                && (any(&["--all", "--all=true", "--all-namespaces", "-A"])
                    || matches!(
                        call.operands().nth(1).map(|kind| kind.text.as_str()),
                        Some("namespace" | "namespaces" | "ns" | "nodes" | "pv")
                    ))
        }
        "terraform" | "tofu" | "terragrunt" | "pulumi" => {
            any(&["destroy", "-destroy"]) && any(&["-auto-approve", "--auto-approve", "-y", "--yes"])
        }
        "docker" | "podman" => {
            any(&["prune"])
                && any(&["--volumes", "volume"])
                && (any(&["-a", "--all"]) || call.flag('f', "force"))
        }
        "aws" => {
            any(&["s3"])
                && (any(&["rb"]) && any(&["--force"])
                    || any(&["rm"]) && any(&["--recursive"]) && whole_bucket(call))
        }
        "gsutil" => any(&["rm", "rb"]) && call.flag('r', "") && whole_bucket(call),
        "gcloud" => any(&["projects"]) && any(&["delete"]),
        "az" => any(&["group"]) && any(&["delete"]) && any(&["-y", "--yes"]),
        _ => false,
    }
}

fn drops_database(text: &str) -> bool {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.windows(2).any(|two| two[0] == "drop" && matches!(two[1], "database" | "schema" | "keyspace"))
}

/// Whether a bucket is named without anything in it.
fn whole_bucket(call: &Call<'_>) -> bool {
    call.operands().any(|arg| {
        arg.text.split_once("://").is_some_and(|(_, rest)| {
            rest.split_once('/').is_none_or(|(_, key)| key.is_empty() || key.starts_with('*'))
        })
    })
}
