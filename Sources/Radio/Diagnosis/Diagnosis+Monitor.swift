/// The judgement of one who wants to look at the kernel's Bluetooth and may not.
extension Diagnosis {
  /// Why ``KernelMonitor`` is closed to this process, and how to mend it: for one that it was closed
  /// to. Costs a look at files of /proc.
  public static var closedMonitor: Check { closedMonitor(MachineEvidence(SystemFiles())) }

  static func closedMonitor(_ evidence: MachineEvidence) -> Check {
    if evidence.isUserNamespace {
      return Check(
        "monitor", .problem,
        "looking at the kernel's Bluetooth wants CAP_NET_RAW outside of user namespaces, and this "
          + "process is in one of its own",
        remedy: "run it outside (sudo, or a container that is not rootless)")
    }
    return Check(
      "monitor", .problem, "CAP_NET_RAW is missing: looking at the kernel's Bluetooth wants it",
      remedy: evidence.cannotGainPrivileges
        ? "run it as root; this process cannot gain privileges (NoNewPrivs), so a capability of the "
          + "file would not count"
        : "sudo setcap cap_net_raw,cap_net_admin+ep \(evidence.program), or run it as root")
  }
}
