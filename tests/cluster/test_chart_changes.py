"""What the Helm chart makes of `controller.changes`: a role of its own, and the file of what may be changed."""

from __future__ import annotations

import yaml

from controller.api.rights import WRITABLE, change_cluster_rules, change_read_rules, change_write_rules
from tests.cluster.test_chart import CHANGES, as_set, containers, environment
from tests.support.helm import Helm, one_of


def test_rights_to_change_come_in_a_role_of_their_own_and_only_where_they_are_asked_for(helm: Helm) -> None:
    assert not [one for one in helm.template() if one["metadata"]["name"].endswith("-change")]
    texts = (change_write_rules(), change_read_rules(), change_cluster_rules(impersonates=False))
    written, read, above = (as_set(yaml.safe_load(text)) for text in texts)
    whole = helm.template(CHANGES)
    assert as_set(one_of(whole, "ClusterRole", "serving-deck-tierdeck-change")["rules"]) == read | above
    parts = [one for one in whole if one["kind"] == "Role" and one["metadata"]["name"].endswith("-change")]
    (space,) = CHANGES["controller"]["changes"]["policy"]["namespaces"]
    # whatever is watched, it is written only where the policy says so
    assert [(one["metadata"]["namespace"], as_set(one["rules"])) for one in parts] == [(space, written)]
    role = written | read | above
    verbs = {verb for _, _, some in role for verb in some}
    assert verbs == {"get", "list", "patch", "update", "create"}
    assert [plural for _, plural, some in role if "create" in some] == ["selfsubjectaccessreviews"]
    assert {plural for _, plural, some in role if "patch" in some} == {one.plural for one in WRITABLE}
    split = helm.template({**CHANGES, "namespaces": ["a", space]})
    parts = [one for one in split if one["kind"] == "Role" and one["metadata"]["name"].endswith("-change")]
    assert [(one["metadata"]["namespace"], as_set(one["rules"])) for one in parts] == [
        ("a", read),
        (space, read | written),
    ]
    assert as_set(one_of(split, "ClusterRole", "serving-deck-tierdeck-change")["rules"]) == above
    bare = helm.template({**CHANGES, "rights": {"create": False}})
    assert not [one for one in bare if "Role" in one["kind"]]


def test_to_write_as_another_is_a_right_only_where_it_is_asked_for(helm: Helm) -> None:
    changes = {"changes": {**CHANGES["controller"]["changes"], "impersonate": True}}
    role = one_of(helm.template({"controller": changes}), "ClusterRole", "serving-deck-tierdeck-change")
    assert as_set(role["rules"]) == as_set(
        yaml.safe_load("\n".join((change_read_rules(), change_cluster_rules(impersonates=True))))
    )


def test_the_file_of_what_may_be_changed_reaches_the_controller_alone(helm: Helm) -> None:
    objects = helm.template(CHANGES)
    file = one_of(objects, "ConfigMap", "deck-tierdeck-changes")["data"]["changes.yaml"]
    assert yaml.safe_load(file) == CHANGES["controller"]["changes"]["policy"]
    told = {one["name"]: environment(one) for one in containers(objects)}
    assert told["controller"]["TIERDECK_CHANGES_FILE"] == "/etc/tierdeck/changes/changes.yaml"
    assert (
        told["controller"]["TIERDECK_CHANGES_SECOND_PERSON"]
        == told["console"]["TIERDECK_CHANGES_SECOND_PERSON"]
        == "true"
    )
    mounts = {one["name"]: {mount["mountPath"] for mount in one["volumeMounts"]} for one in containers(objects)}
    assert [name for name, paths in mounts.items() if "/etc/tierdeck/changes" in paths] == ["controller"]
