//! Arguments of the Deployments, parsed by the programs that get them.

use std::process::Command;

use anyhow::Result;
use weir_e2e::{Installation, SERVICES};
use weir_testkit::built_program;

/// Returns true when a service takes the arguments. Help is printed when everything before it was parsed.
fn takes(service: &str, arguments: &[String]) -> Result<bool> {
    let output = Command::new(built_program(service)?).args(arguments).arg("--help").output()?;
    Ok(output.status.success())
}

#[test]
fn each_service_takes_the_arguments_of_its_deployment() -> Result<()> {
    let components = Installation::optional_components()?;
    assert!(components.contains("workload-identity"), "{components:?}");
    let alone = components.iter().map(|component| vec![component.as_str()]);
    for components in alone.chain([vec![]]) {
        let installation = Installation::with_components(&components)?;
        for service in SERVICES {
            let arguments = installation.arguments(service)?;
            assert!(takes(service, &arguments)?, "{service} with {components:?}: {arguments:?}");
        }
    }
    Ok(())
}

#[test]
fn a_wrong_argument_is_refused() -> Result<()> {
    for wrong in ["--no-such-flag", "--log-level=loud", "--leader-election-lease-duration=long"] {
        for service in SERVICES {
            assert!(!takes(service, &[wrong.to_owned()])?, "{service} takes {wrong}");
        }
    }
    Ok(())
}
