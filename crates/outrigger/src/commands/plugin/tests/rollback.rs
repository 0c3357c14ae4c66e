//! Tests of `plugin rollback`.

use super::*;

const WEB: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
const WEB_TEMPLATE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {text: {{ .Values.text }}}
";

/// Two repositories have the same version of a chart. A rollback to a revision that was installed from the other one would
/// deploy a chart that never was a revision, or say that nothing is to be done.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_to_a_revision_of_another_repository_is_refused() {
    let charts = tempfile::tempdir().unwrap();
    let template = WEB_TEMPLATE.to_owned();
    let annotated = template.replace("{name: web}", "{name: web, annotations: {fork: a}}");
    for (repository, template, values) in [
        ("original", &template, "text: a\n"),
        ("other-templates", &annotated, "text: a\n"),
        ("other-values", &template, "text: b\n"),
    ] {
        let chart = charts.path().join(repository).join("web");
        fs_err::create_dir_all(chart.join("templates")).unwrap();
        fs_err::write(chart.join("Chart.yaml"), WEB).unwrap();
        fs_err::write(chart.join("values.yaml"), values).unwrap();
        fs_err::write(chart.join("templates/web.yaml"), template).unwrap();
    }
    let repo = |repository: &str| format!("file://{}/{repository}", charts.path().display());
    let controlled = Controlled::start().await;
    let (cluster, connection) = (&controlled.cluster, &controlled.cluster.connection);
    let spec = json!({"repo": repo("original"), "chart": "web"});
    let mut web = plugin("web", None);
    web.spec = serde_json::from_value(spec).unwrap();
    install(connection, vec![web], true, false).await.unwrap();
    wait_for(cluster, "web", WaitCondition::Ready).await;
    for (repository, values) in [
        // The spec is that of revision 1, except for the repository.
        ("other-templates", json!({})),
        ("other-values", json!({"text": "c"})),
    ] {
        let api = connection.plugins();
        let changed = edit(&api, "web", false, |plugin| {
            plugin.spec.repo = Some(repo(repository));
            plugin.spec.values = values.as_object().unwrap().clone();
            Ok(())
        });
        changed.await.unwrap();
        wait_for(cluster, "web", WaitCondition::Ready).await;
        let before = cluster.get("web").await;
        let refused = roll_back(connection, "web", Some(1), false).await;
        assert_eq!(
            text(&refused.unwrap_err()),
            "revision 1 cannot be restored: chart web 1.0.0 in the repository of the plugin is not the one that revision 1 was \
             installed from",
            "{repository}"
        );
        assert_eq!(cluster.get("web").await.spec, before.spec, "{repository}");
    }
    // The current repository has what the last revision was installed from.
    let unchanged = roll_back(connection, "web", Some(3), false).await.unwrap();
    assert!(!unchanged.has_changed);
    controlled.stop().await;
}

/// A rollback compared the version of the revision with the installed one only, and found that nothing was to be done.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_from_a_version_that_does_not_exist_returns_to_the_deployed_one() {
    let charts = tempfile::tempdir().unwrap();
    let chart = charts.path().join("web");
    fs_err::create_dir_all(chart.join("templates")).unwrap();
    fs_err::write(chart.join("Chart.yaml"), WEB).unwrap();
    fs_err::write(chart.join("values.yaml"), "text: a\n").unwrap();
    let template = WEB_TEMPLATE.replace("web", "{{ .Values.name }}");
    fs_err::write(chart.join("templates/web.yaml"), template).unwrap();
    let controlled = Controlled::start().await;
    let (cluster, connection) = (&controlled.cluster, &controlled.cluster.connection);
    let api = connection.plugins();
    let repo = format!("file://{}", charts.path().display());
    for (name, version, restored) in [("fixed", "1.0.0", "1.0.0"), ("range", "^1", "1.0.0")] {
        let mut plugin = plugin(name, None);
        let spec = json!({"repo": repo, "chart": "web", "version": version, "releaseName": name,
            "values": {"name": name}});
        plugin.spec = serde_json::from_value(spec).unwrap();
        let installed = install(connection, vec![plugin], true, false).await;
        installed.unwrap();
        wait_for(cluster, name, WaitCondition::Ready).await;
        let changed = edit(&api, name, false, |plugin| {
            plugin.spec.version = Some("9.9.9".to_owned());
            Ok(())
        });
        changed.await.unwrap();
        let has_failed = |plugin: Option<&Plugin>| {
            plugin.is_some_and(|plugin| plugin.is_observed() && plugin.phase() == Phase::Failed)
        };
        let failed = kube::runtime::wait::await_condition(api.clone(), name, has_failed);
        tokio::time::timeout(TIMEOUT, failed)
            .await
            .unwrap()
            .unwrap();
        let rolled_back = roll_back(connection, name, None, false).await.unwrap();
        assert_eq!((rolled_back.revision, rolled_back.has_changed), (1, true));
        assert_eq!(rolled_back.plugin.spec.version.as_deref(), Some(restored));
        wait_for(cluster, name, WaitCondition::Ready).await;
        // Values that cannot be deployed do not pin the version.
        let changed = edit(&api, name, false, |plugin| {
            plugin.spec.version = Some("^1".to_owned());
            plugin.spec.values = json!({"name": "Not A Name"}).as_object().unwrap().clone();
            Ok(())
        });
        changed.await.unwrap();
        let failed = kube::runtime::wait::await_condition(api.clone(), name, has_failed);
        tokio::time::timeout(TIMEOUT, failed)
            .await
            .unwrap()
            .unwrap();
        let rolled_back = roll_back(connection, name, None, false).await.unwrap();
        assert_eq!(rolled_back.plugin.spec.version.as_deref(), Some("^1"));
        wait_for(cluster, name, WaitCondition::Ready).await;
    }
    controlled.stop().await;
}
