public import AttoEventLoop
import AttoKernelRadio

/// Problems of Bluetooth on this machine, and how to fix them.
///
/// # Theory
/// First evidence is collected: files of /proc and /sys, sockets that are tried, and answers of the
/// kernel's management socket (`MachineEvidence`). Then it is judged by functions of the evidence
/// alone. So each judgement can be tested without such a machine.
///
/// Two things may change: a kernel that has Bluetooth as a module may load it when the socket is
/// tried, and the folder of the virtual air is created. Any use of either does the same.
public struct Diagnosis: Hashable, Sendable {
  /// The severity of a finding.
  public enum Mark: String, Hashable, Sendable, CaseIterable {
    /// There is no problem.
    case ok
    /// It works with limitations, or another program may interfere.
    case warn
    /// Operations of Atto will fail because of this.
    case problem
  }

  /// The result of one check.
  public struct Check: Hashable, Sendable {
    /// The name of the check, one of ``Diagnosis/names``.
    public var name: String
    /// The adapter, such as `hci0`; nil for a check of none in particular.
    public var adapter: String?
    /// The result.
    public var mark: Mark
    /// The finding.
    public var text: String
    /// How to fix it; nil if there is nothing to fix.
    public var remedy: String?

    init(
      _ name: String, adapter: String? = nil, _ mark: Mark, _ text: String, remedy: String? = nil
    ) {
      self.name = name
      self.adapter = adapter
      self.mark = mark
      self.text = text
      self.remedy = remedy
    }
  }

  /// The names of all checks, in the order of ``checks``. A check that depends on another, such as the
  /// power of an adapter if there is none, is left out.
  public static let names = [
    "kernel", "container", "bluetooth", "features", "adapter", "rfkill", "power", "le", "address",
    "bondable", "supervision", "scans",
    "capability", "bluetoothd", "programs", "receive-buffer", "air", "sqlite",
  ]

  /// The results, in the order of ``names``.
  public let checks: [Check]

  /// Examines this machine as this process sees it.
  public static func examine(loop: Loop = .shared) async -> Diagnosis {
    var evidence = MachineEvidence(SystemFiles())
    evidence.trySockets()
    evidence.tryAir()
    evidence.tryLibraries()
    await evidence.askKernel(loop)
    return Diagnosis(evidence)
  }

  init(_ evidence: MachineEvidence) {
    var checks = [Self.kernel(evidence)]
    if let check = Self.container(evidence) { checks.append(check) }
    checks.append(Self.bluetooth(evidence))
    if evidence.socketErrno == 0 {
      if let check = Self.features(evidence) { checks.append(check) }
      checks += Self.adapters(evidence)
      checks += [Self.capability(evidence), Self.daemon(evidence), Self.programs(evidence)]
      if let check = Self.receiveBuffer(evidence) { checks.append(check) }
    }
    checks.append(Self.air(evidence))
    checks.append(Self.sqlite(evidence))
    self.checks = checks
  }
}
