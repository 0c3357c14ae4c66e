//! The steps of each flow, in their order.

use super::StepRole::{All, ControlPlane, JoiningControlPlane, Worker};
use super::StepScope::{Cluster, Machine, MachineInTurn};
use super::{FlowName, FlowStep, StepRole, StepScope};

const fn step(id: &'static str, scope: StepScope, role: StepRole) -> FlowStep {
    FlowStep { id, scope, role }
}

/// The steps of a flow.
pub const fn steps(flow: FlowName) -> &'static [FlowStep] {
    match flow {
        FlowName::Create => CREATE,
        FlowName::Upgrade => UPGRADE,
        FlowName::ScaleUp => SCALE_UP,
        FlowName::ScaleDown => SCALE_DOWN,
        FlowName::RenewCertificates => RENEW_CERTIFICATES,
        FlowName::Restore => RESTORE,
        FlowName::UpdateRegistries => UPDATE_REGISTRIES,
        FlowName::Delete => DELETE,
    }
}

/// On the control plane. Workers are added by scaling up, so that none of them can hold up the cluster.
///
/// Providers change nothing before all machines have passed `EnsurePreflight` and `EnsureClusterComplete`. What the admin does to
/// prepare machines, by hooks or delegated steps, comes before.
const CREATE: &[FlowStep] = &[
    step("EnsureCopyFiles", Machine, All),
    step("EnsurePreClusterInstallHook", Cluster, All),
    step("EnsurePreInstallHook", Machine, All),
    step("EnsureInitAPIServerHost", Machine, All),
    step("EnsureDisableSwap", Machine, All),
    step("EnsurePreflight", Machine, All),
    step("EnsureClusterComplete", Cluster, All),
    step("EnsureRegistryHosts", Machine, All),
    step("EnsureKernelModule", Machine, All),
    step("EnsureSysctl", Machine, All),
    step("EnsureNvidiaDriver", Machine, All),
    step("EnsureNvidiaContainerRuntime", Machine, All),
    step("EnsureContainerRuntime", Machine, All),
    step("EnsureStartContainerRuntime", Machine, All),
    step("EnsureKubernetesImages", Machine, All),
    step("EnsureKubelet", Machine, All),
    step("EnsureStartKubelet", Machine, All),
    step("EnsureCNIPlugins", Machine, All),
    step("EnsureConntrackTools", Machine, All),
    step("EnsureKubeadm", Machine, All),
    step("EnsureKeepalivedInit", Machine, All),
    step("EnsureThirdPartyHAInit", Machine, All),
    step("EnsureAuthzWebhook", Machine, All),
    step("EnsureAuditConfig", Machine, All),
    step("EnsurePrepareForControlplane", Machine, All),
    step("EnsureKubeadmInitPhaseKubeletStart", Cluster, All),
    step("EnsureKubeadmInitPhaseCerts", Cluster, All),
    step("EnsureStoreCredential", Cluster, All),
    step("EnsureKubeconfig", Cluster, All),
    step("EnsureKubeadmInitPhaseKubeConfig", Cluster, All),
    step("EnsureKubeadmInitPhaseControlPlane", Cluster, All),
    step("EnsureKubeadmInitPhaseETCD", Cluster, All),
    step("EnsureKubeadmInitPhaseWaitControlPlane", Cluster, All),
    step("EnsureKubeadmInitPhaseUploadConfig", Cluster, All),
    step("EnsureKubeadmInitPhaseUploadCerts", Cluster, All),
    step("EnsureKubeadmInitPhaseBootstrapToken", Cluster, All),
    step("EnsureKubeadmInitPhaseAddon", Cluster, All),
    step(
        "EnsureJoinPhasePreflight",
        MachineInTurn,
        JoiningControlPlane,
    ),
    step(
        "EnsureJoinPhaseControlPlanePrepare",
        MachineInTurn,
        JoiningControlPlane,
    ),
    step(
        "EnsureJoinPhaseKubeletStart",
        MachineInTurn,
        JoiningControlPlane,
    ),
    step(
        "EnsureJoinPhaseControlPlaneJoinETCD",
        MachineInTurn,
        JoiningControlPlane,
    ),
    step(
        "EnsureJoinPhaseControlPlaneJoinUpdateStatus",
        MachineInTurn,
        JoiningControlPlane,
    ),
    step("EnsureClusternetRegistration", Cluster, All),
    step("EnsureGalaxy", Cluster, All),
    step("EnsureCilium", Cluster, All),
    step("EnsurePodNetwork", Machine, All),
    step("EnsurePatchAnnotation", Machine, All),
    step("EnsureMarkControlPlane", Machine, All),
    step("EnsureKeepalivedWithLBOption", Machine, All),
    step("EnsureThirdPartyHA", Machine, All),
    step("EnsureModifyAPIServerHost", Machine, All),
    step("EnsureNvidiaDevicePlugin", Cluster, All),
    step("EnsureGPUManager", Cluster, All),
    step("EnsureCSIOperator", Cluster, All),
    step("EnsureMetricsServer", Cluster, All),
    step("EnsureNodeReady", Machine, All),
    step("EnsureClusterDNS", Cluster, All),
    step("EnsureCleanup", Machine, All),
    step("EnsureCreateClusterMark", Cluster, All),
    step("EnsurePostInstallHook", Machine, All),
    step("EnsurePostClusterInstallHook", Cluster, All),
];

/// On new machines only. Without steps of the cluster, so that machines do not wait for each other.
const SCALE_UP: &[FlowStep] = &[
    step("EnsureCopyFiles", Machine, All),
    step("EnsurePreInstallHook", Machine, All),
    step("EnsureClean", Machine, All),
    step("EnsureInitAPIServerHost", Machine, All),
    step("EnsureDisableSwap", Machine, All),
    step("EnsurePreflight", Machine, All),
    step("EnsureRegistryHosts", Machine, All),
    step("EnsureKernelModule", Machine, All),
    step("EnsureSysctl", Machine, All),
    step("EnsureManifestDir", Machine, Worker),
    step("EnsureNvidiaDriver", Machine, All),
    step("EnsureNvidiaContainerRuntime", Machine, All),
    step("EnsureContainerRuntime", Machine, All),
    step("EnsureStartContainerRuntime", Machine, All),
    step("EnsureKubernetesImages", Machine, All),
    step("EnsureKubelet", Machine, All),
    step("EnsureStartKubelet", Machine, All),
    step("EnsureCNIPlugins", Machine, All),
    step("EnsureConntrackTools", Machine, All),
    step("EnsureKubeadm", Machine, All),
    step("EnsurePrepareForControlplane", Machine, ControlPlane),
    step("EnsureJoinPhasePreflight", Machine, All),
    step("EnsureJoinPhaseControlPlanePrepare", Machine, ControlPlane),
    step("EnsureJoinPhaseKubeletStart", Machine, All),
    step(
        "EnsureJoinPhaseControlPlaneJoinETCD",
        MachineInTurn,
        ControlPlane,
    ),
    step(
        "EnsureJoinPhaseControlPlaneJoinUpdateStatus",
        MachineInTurn,
        ControlPlane,
    ),
    step("EnsureKubeconfig", Machine, All),
    step("EnsurePodNetwork", Machine, All),
    step("EnsureMarkControlPlane", Machine, ControlPlane),
    step("EnsureMarkNode", Machine, Worker),
    step("EnsureNodeReady", Machine, All),
    step("EnsurePostInstallHook", Machine, All),
];

/// What takes long and disturbs nothing is done on all machines first, so that the turn of each machine is short.
const UPGRADE: &[FlowStep] = &[
    step("EnsureCopyFiles", Machine, All),
    step("EnsurePreClusterUpgradeHook", Cluster, All),
    step("EnsureUpgradePreflight", Machine, All),
    step("EnsureETCDSnapshot", Cluster, All),
    step("EnsureKubernetesImages", Machine, All),
    step("EnsureKubeadm", Machine, All),
    step("EnsureUpgradeCoreDNS", Cluster, All),
    step("EnsurePreUpgradeHook", MachineInTurn, All),
    step("EnsureUpgradeControlPlaneNode", MachineInTurn, ControlPlane),
    step("EnsureUpgrade", MachineInTurn, Worker),
    step("EnsureDrainNode", MachineInTurn, All),
    step("EnsureUpgradeKubelet", MachineInTurn, All),
    step("EnsureNodeUpgraded", MachineInTurn, All),
    step("EnsurePostUpgradeHook", MachineInTurn, All),
    step("EnsurePostClusterUpgradeHook", Cluster, All),
];

const SCALE_DOWN: &[FlowStep] = &[
    step("EnsureRemoveETCDMember", MachineInTurn, ControlPlane),
    step("EnsureRemoveNode", Machine, All),
    step("EnsureRemoveFiles", Machine, All),
];

/// All control planes get new files before one is restarted: members of etcd whose certificates have expired form no quorum with
/// one that has a new one. They are restarted one after the other, so that another one answers meanwhile.
const RENEW_CERTIFICATES: &[FlowStep] = &[
    step("EnsureRenewalPreflight", Cluster, All),
    step("EnsureRenewCertificates", Machine, ControlPlane),
    step("EnsureRestartControlPlane", MachineInTurn, ControlPlane),
    step("EnsureRenewKubeconfig", Cluster, All),
];

/// No member of etcd runs while others are restored. Nodes that joined after the backup are added again.
const RESTORE: &[FlowStep] = &[
    step("EnsureRestorePreflight", Cluster, All),
    step("EnsureStopControlPlane", Machine, ControlPlane),
    step("EnsureControlPlaneStopped", Cluster, All),
    step("EnsureRestoreETCD", Machine, ControlPlane),
    step("EnsureStartControlPlane", Machine, ControlPlane),
    step("EnsureRestartKubelet", Machine, All),
    step("EnsureMarkControlPlane", Machine, ControlPlane),
    step("EnsureMarkNode", Machine, Worker),
    step("EnsurePodNetwork", Machine, All),
    step("EnsureNodeReady", Machine, All),
];

/// Machines read it with each image that they pull.
const UPDATE_REGISTRIES: &[FlowStep] = &[step("EnsureRegistryHosts", Machine, All)];

const DELETE: &[FlowStep] = &[
    step("EnsureCopyFiles", Machine, All),
    step("EnsurePreClusterDeleteHook", Cluster, All),
    step("EnsureRemoveMachine", Machine, All),
    step("EnsureCleanClusterMark", Cluster, All),
    step("EnsurePostClusterDeleteHook", Cluster, All),
    step("EnsureRemoveFiles", Machine, All),
];
