//! The page about feature gates names what the services have.

use weir_testkit::repo_path;

/// Names and defaults of a service's part of the page.
fn listed(page: &str, service: &str) -> Vec<(String, bool)> {
    let part = page.split("\n## ").find_map(|part| part.strip_prefix(service)).unwrap();
    let rows = part.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").map(str::to_owned).collect::<Vec<_>>());
    let gates = cells.flat_map(|cells| {
        let names: Vec<String> = cells[0].split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
        names.into_iter().map(move |name| (name, cells[1] == "true"))
    });
    let mut gates: Vec<_> = gates.collect();
    gates.sort();
    gates
}

#[test]
fn the_page_lists_all_gates_with_their_defaults() {
    let page = std::fs::read_to_string(repo_path("docs/feature-gates.md")).unwrap();
    let services: [(&str, &[(&str, bool)]); 5] = [
        ("kustomize-controller", &weir_kustomize_controller::args::GATES),
        ("source-controller", &weir_source_controller::args::GATES),
        ("image-reflector-controller", &weir_image_reflector_controller::args::GATES),
        ("image-automation-controller", &weir_image_automation_controller::args::GATES),
        ("notification-controller", weir_notification_controller::args::GATES),
    ];
    for (service, gates) in services {
        let mut gates: Vec<_> = gates.iter().map(|(name, default)| ((*name).to_owned(), *default)).collect();
        gates.sort();
        assert_eq!(listed(&page, service), gates, "{service}");
    }
}
