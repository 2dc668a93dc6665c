public import EventLoop

/// What stands between this process and the kernel's radio, and how to mend it.
///
/// # Theory
/// First everything is looked at (``MachineEvidence``: files of /proc and /sys, sockets that are
/// tried, questions to the kernel's management), and only then judged, by functions of the
/// evidence alone. So each judgement can be tried on machines that are not at hand.
///
/// Nothing is changed but for this: a kernel that has Bluetooth as a module may load it when the
/// socket is tried, and the virtual air's folder is made, as by any use of either.
public struct Diagnosis: Hashable, Sendable {
  /// How much a finding matters.
  public enum Mark: String, Hashable, Sendable, CaseIterable {
    /// Nothing stands in the way here.
    case ok
    /// It works, but not as well as it could, or somebody may interfere.
    case warn
    /// Something that Atto does will fail because of this.
    case problem
  }

  /// One thing that was checked.
  public struct Check: Hashable, Sendable {
    /// What was checked: one word of a fixed set, see ``Diagnosis/names``.
    public var name: String
    /// The adapter that it is about, such as `hci0`; nil if about none in particular.
    public var adapter: String?
    /// How it came out.
    public var mark: Mark
    /// What was found, for people.
    public var text: String
    /// What to do about it; nil if nothing need be done.
    public var remedy: String?

    init(
      _ name: String, adapter: String? = nil, _ mark: Mark, _ text: String,
      remedy: String? = nil
    ) {
      self.name = name
      self.adapter = adapter
      self.mark = mark
      self.text = text
      self.remedy = remedy
    }
  }

  /// What is checked, in the order of ``checks``. A check that makes no sense without an earlier
  /// one, such as an adapter's power where there is no adapter, is left out.
  public static let names = [
    "kernel", "container", "bluetooth", "adapter", "rfkill", "power", "le", "address", "bondable",
    "capability", "bluetoothd", "programs", "receive-buffer", "air", "sqlite",
  ]

  /// What was looked at, in the order of ``names``.
  public let checks: [Check]

  /// Whether something will fail.
  public var hasProblem: Bool { checks.contains { $0.mark == .problem } }

  /// Other programs that may listen on L2CAP's ATT channel, for people; nil if there seem to be
  /// none. Costs a look through all processes.
  public static var rivals: String? {
    let files = SystemFiles()
    let (programs, _) = MachineEvidence.Program.all(["/proc/net/l2cap"], files)
    guard !programs.isEmpty, MachineEvidence.Program.isChannelTaken(files) ?? true else {
      return nil
    }
    return list(programs)
  }

  /// Looks at this machine as this process sees it.
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
    checks += Self.container(evidence)
    checks.append(Self.bluetooth(evidence))
    if evidence.socketErrno == 0 {
      checks += Self.adapters(evidence)
      checks.append(Self.capability(evidence))
      checks.append(Self.daemon(evidence))
      checks += Self.programs(evidence)
      checks += Self.receiveBuffer(evidence)
    }
    checks.append(Self.air(evidence))
    checks.append(Self.sqlite(evidence))
    self.checks = checks
  }
}
