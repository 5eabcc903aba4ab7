"""Three kernels that share a PostgreSQL, behind haproxy: cluster.py MGP FOLDER SIMULATION [--short] [--kills N] [--only NAME]

Prints a table of all checks and figures, and ends with 1 where something is not as it should be."""

import argparse
import shutil
import sys
import time

import deployments
import faults
import parts
import peers
import policy

CHECKS = [
    policy.keys_of_one_are_good_at_all,
    policy.denials_of_one_hold_at_all,
    policy.denials_end_calls_at_all_within_a_second,
    policy.revocations_hold_at_all_within_a_second,
    policy.one_question_is_decided_once,
    policy.a_call_that_waits_is_woken,
    policy.a_yes_outlives_the_kernel_of_the_call,
    policy.one_key_of_a_call_pays_once,
    policy.logins_are_those_of_all,
    policy.limits_are_those_of_all,
    faults.a_stopped_database_stops_decisions,
    faults.reads_go_on_where_the_configuration_says_so,
    faults.lost_connections_are_made_again,
    faults.a_pooler_that_keeps_no_connections_is_found,
    faults.a_full_disk_of_the_database_stops_changes_only,
    faults.what_no_kernel_wrote_is_not_carried_out,
    faults.changed_rows_are_found,
    faults.a_wrong_clock_changes_nothing,
    faults.a_rolling_restart_loses_no_call,
    faults.kills_lose_nothing,
    peers.sessions_go_through_the_balancer,
    peers.sessions_are_used_at_any_kernel,
    peers.a_server_runs_once,
    peers.an_agent_without_sessions_has_one_instance,
    peers.a_lease_that_another_took_is_given_up,
    peers.orders_of_a_killed_owner_run_once,
    peers.only_kernels_pass_calls_to_each_other,
    peers.the_record_is_one,
    faults.many_entries,
    faults.capacity,
    policy.propagation_at_a_hundred_kernels,
    deployments.examples_are_valid,
    deployments.the_chart_is_valid,
]


def main():
    words = argparse.ArgumentParser()
    for name in ("mgp", "folder", "simulation"):
        words.add_argument(name)
    words.add_argument("--short", action="store_true")
    words.add_argument("--kills", type=int)
    words.add_argument("--only", default="")
    words = words.parse_args()
    shutil.rmtree(parts.FOLDER, ignore_errors=True)
    parts.NOTES.mkdir(parents=True)
    rows = []
    try:
        cluster = parts.Cluster()
        cluster.simulation, cluster.kills = words.simulation, words.kills or (5 if words.short else 200)
        for each in CHECKS:
            if words.only in each.__name__:
                began = time.monotonic()
                is_held, told = carry_out(each, cluster, words.short)
                rows.append((each.__doc__, told, "ok" if is_held else "FAILED"))
                print(f"{rows[-1][2]}: {each.__name__} ({time.monotonic() - began:.0f} s): {told}", flush=True)
    finally:
        for part in parts.PARTS:
            part.end()
    print("\n| check | figure | verdict |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |")
    sys.exit(any(verdict != "ok" for *_, verdict in rows))


def carry_out(each, cluster, short):
    """Returns whether a check holds, and what it found."""
    try:
        cluster.heal()
        return True, each(cluster, short)
    except Exception as error:  # what stops one check is a failure of it, and the others are made
        return False, f"{type(error).__name__}: {error}".replace("\n", " ")[:600]


main()
