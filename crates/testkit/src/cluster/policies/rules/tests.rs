use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde::de::DeserializeOwned;

use super::*;

fn object<T: DeserializeOwned>(yaml: &str) -> Arc<T> {
    Arc::new(serde_saphyr::from_str(yaml).unwrap())
}

fn pod(address: u8, namespace: &str, app: &str, ports: &str) -> PodAt {
    let pod = format!(
        "{{metadata: {{name: {app}, namespace: {namespace}, labels: {{app: {app}}}}}, \
         spec: {{containers: [{{name: app, ports: {ports}}}]}}}}"
    );
    PodAt { address: Ipv4Addr::new(10, 0, 0, address), pod: object(&pod) }
}

/// Rules of policies in the namespace `a`, without the first line.
fn rules_of(specs: &[&str]) -> Rules {
    let pods = [
        pod(
            1,
            "a",
            "web",
            "[{name: http, containerPort: 8080}, {name: http, protocol: UDP, containerPort: 8081}]",
        ),
        pod(2, "a", "job", "[]"),
        pod(3, "b", "web", "[{name: http, containerPort: 9090}]"),
    ];
    let namespaces = ["{metadata: {name: a, labels: {team: x}}}", "{metadata: {name: b, labels: {team: y}}}"];
    let policy = |spec: &&str| {
        object::<NetworkPolicy>(&format!("{{metadata: {{name: p, namespace: a}}, spec: {spec}}}"))
    };
    let policies: Vec<_> = specs.iter().map(policy).collect();
    Rules::new(&pods, &namespaces.map(object), &policies)
}

/// A policy for the Pod `web` with one rule, and that Pod's chain without its end.
const CASES: [(&str, &str, &[&str]); 16] = [
    ("Ingress", "ingress: []", &[]),
    ("Ingress", "ingress: [{}]", &[""]),
    ("Ingress", "ingress: [{from: [], ports: []}]", &[""]),
    ("Ingress", "ingress: [{from: [{podSelector: {}}]}]", &["-s 10.0.0.1", "-s 10.0.0.2"]),
    ("Ingress", "ingress: [{from: [{podSelector: {matchLabels: {app: job}}}]}]", &["-s 10.0.0.2"]),
    (
        "Ingress",
        "ingress: [{from: [{namespaceSelector: {}}]}]",
        &["-s 10.0.0.1", "-s 10.0.0.2", "-s 10.0.0.3"],
    ),
    (
        "Ingress",
        "ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [x]}]}}]}]",
        &["-s 10.0.0.3"],
    ),
    (
        "Ingress",
        "ingress: [{from: [{namespaceSelector: {matchLabels: {team: x}}, \
         podSelector: {matchExpressions: [{key: app, operator: In, values: [web, other]}]}}]}]",
        &["-s 10.0.0.1"],
    ),
    (
        "Ingress",
        "ingress: [{from: [{ipBlock: {cidr: 192.168.0.0/30, except: [192.168.0.1/32]}}, {ipBlock: {cidr: 'fd00::/8'}}]}]",
        &["-s 192.168.0.0/32", "-s 192.168.0.2/31"],
    ),
    (
        "Ingress",
        "ingress: [{ports: [{port: 80}, {port: 90, endPort: 99}, {protocol: UDP}, {protocol: SCTP, port: 7}]}]",
        &["-p tcp --dport 80", "-p tcp --dport 90:99", "-p udp", "-p sctp --dport 7"],
    ),
    ("Ingress", "ingress: [{ports: [{port: http}, {port: other}]}]", &["-p tcp --dport 8080"]),
    ("Ingress", "ingress: [{ports: [{port: http, protocol: UDP}]}]", &["-p udp --dport 8081"]),
    (
        "Ingress",
        "ingress: [{from: [{podSelector: {matchLabels: {app: job}}}, {ipBlock: {cidr: 10.1.0.0/16}}], \
         ports: [{port: 80}, {port: 81}]}, {ports: [{port: 82}]}]",
        &[
            "-s 10.0.0.2 -p tcp --dport 80",
            "-s 10.0.0.2 -p tcp --dport 81",
            "-s 10.1.0.0/16 -p tcp --dport 80",
            "-s 10.1.0.0/16 -p tcp --dport 81",
            "-p tcp --dport 82",
        ],
    ),
    ("Egress", "egress: [{to: [{podSelector: {matchLabels: {app: job}}}]}]", &["-d 10.0.0.2"]),
    (
        "Egress",
        "egress: [{to: [{namespaceSelector: {}}], ports: [{port: http}]}]",
        &["-d 10.0.0.1 -p tcp --dport 8080", "-d 10.0.0.3 -p tcp --dport 9090"],
    ),
    (
        "Egress",
        "egress: [{ports: [{port: http}]}]",
        &["-d 10.0.0.1 -p tcp --dport 8080", "-d 10.0.0.3 -p tcp --dport 9090"],
    ),
];

#[test]
fn policies_are_rules() {
    for (direction, rule, expected) in CASES {
        let spec =
            format!("{{podSelector: {{matchLabels: {{app: web}}}}, policyTypes: [{direction}], {rule}}}");
        let (chain, jump) = match direction {
            "Ingress" => ("WEIR-IN-10.0.0.1", "-d 10.0.0.1 ! -s 10.0.0.1"),
            _ => ("WEIR-OUT-10.0.0.1", "-s 10.0.0.1 ! -d 10.0.0.1"),
        };
        let mut lines = vec![ANSWERS.to_owned(), format!("-A WEIR-POLICIES {jump} -j {chain}")];
        let allowed = expected.iter().map(|it| format!("-A {chain} {it} -j RETURN").replace("  ", " "));
        lines.extend(allowed);
        lines.push(format!("-A {chain} -j REJECT"));
        assert_eq!(rules_of(&[&spec]).lines, lines, "{spec}");
    }
}

#[test]
fn policies_add_up() {
    let rules = rules_of(&[
        "{podSelector: {}, policyTypes: [Ingress, Egress], egress: [{}]}",
        "{podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress], ingress: [{ports: [{port: 80}]}]}",
        "{podSelector: {matchLabels: {app: nobody}}, policyTypes: [Ingress], ingress: [{}]}",
    ]);
    let of_chain = |chain: &str| {
        let lines = rules.lines.iter().filter_map(|line| line.strip_prefix(&format!("-A {chain} ")));
        lines.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(of_chain("WEIR-IN-10.0.0.1"), "-p tcp --dport 80 -j RETURN, -j REJECT");
    assert_eq!(of_chain("WEIR-OUT-10.0.0.1"), "-j RETURN, -j REJECT");
    assert_eq!(of_chain("WEIR-IN-10.0.0.2"), "-j REJECT");
    assert_eq!(rules.chains.len(), 4, "another namespace's Pod has none: {:?}", rules.chains);
}

#[test]
fn rules_replace_former_ones_at_once() {
    let ingress = rules_of(&["{podSelector: {matchLabels: {app: job}}, policyTypes: [Ingress]}"]);
    let egress = rules_of(&["{podSelector: {matchLabels: {app: job}}, policyTypes: [Egress]}"]);
    assert_eq!(
        egress.text(&ingress, Ipv4Addr::new(10, 213, 7, 1)),
        "*filter\n\
         :WEIR-POLICIES - [0:0]\n\
         :WEIR-IN-10.0.0.2 - [0:0]\n\
         :WEIR-OUT-10.0.0.2 - [0:0]\n\
         -D FORWARD ! -s 10.213.7.1 -j WEIR-POLICIES\n\
         -I FORWARD ! -s 10.213.7.1 -j WEIR-POLICIES\n\
         -A WEIR-POLICIES -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN\n\
         -A WEIR-POLICIES -s 10.0.0.2 ! -d 10.0.0.2 -j WEIR-OUT-10.0.0.2\n\
         -A WEIR-OUT-10.0.0.2 -j REJECT\n\
         -X WEIR-IN-10.0.0.2\n\
         COMMIT\n"
    );
}
