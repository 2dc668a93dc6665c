/// Judgements of the adapters.
extension Diagnosis {
  /// What is wrong with one adapter is in the way only if no other is ready.
  static func adapters(_ evidence: MachineEvidence) -> [Check] {
    if let error = evidence.managementError {
      return [
        Check("adapter", .problem, "the kernel's management cannot be asked: \(error)")
      ]
    }
    var checks = strangers(evidence)
    if evidence.adapters.isEmpty, checks.isEmpty { checks.append(none(evidence)) }
    let isReady = evidence.adapters.contains { $0.settings.isSuperset(of: [.powered, .le]) }
    for adapter in evidence.adapters {
      let version = adapter.versionText ?? "HCI version \(adapter.version)"
      checks.append(
        Check(
          "adapter", adapter: adapter.label, .ok,
          "\(adapter.address.digits), Bluetooth \(version)"
            + (adapter.name.isEmpty ? "" : ", \"\(adapter.name)\"")))
      checks += state(of: adapter, evidence, isReady ? .warn : .problem)
    }
    // A firmware's switch for all radios belongs to no adapter, and may hide them.
    let labels = Set(evidence.adapters.map(\.label))
    for entry in evidence.switches where !labels.contains(entry.name) {
      if let check = blocked([entry], isReady ? .warn : .problem) { checks.append(check) }
    }
    return checks
  }

  /// Adapters that are there and cannot be used.
  private static func strangers(_ evidence: MachineEvidence) -> [Check] {
    let usual = Set(evidence.adapters.map(\.label))
    let unconfigured = Set(evidence.unconfigured.map { "hci\($0)" })
    let mark: Mark = evidence.adapters.isEmpty ? .problem : .warn
    return unconfigured.sorted().map {
      Check(
        "adapter", adapter: $0, mark,
        "it is there, but has no address yet, so the kernel does not use it",
        remedy: "sudo btmgmt --index \($0.dropFirst(3)) public-addr AA:BB:CC:DD:EE:FF")
    }
      + evidence.systemAdapters.filter { !usual.contains($0) && !unconfigured.contains($0) }.map {
        Check(
          "adapter", adapter: $0, mark,
          "it is there, but another program drives it by itself (HCI user channel), or it was not "
            + "set up",
          remedy:
            "end that program (Bumble, for instance); sudo dmesg | grep -i bluetooth tells if "
            + "the kernel gave up on it")
      }
  }

  private static func none(_ evidence: MachineEvidence) -> Check {
    let text = "there is no Bluetooth adapter"
    if let idle = evidence.usbControllers.first(where: { $0.driver == nil }) {
      return Check(
        "adapter", .problem,
        "\(text), but a controller on USB (\(idle.interface)) without a driver",
        remedy: evidence.blacklist.map {
          "\($0) forbids it; remove that line, then: sudo modprobe btusb"
        }
          ?? "sudo modprobe btusb")
    }
    if let taken = evidence.usbControllers.first {
      return Check(
        "adapter", .problem,
        "\(text), but a controller on USB (\(taken.interface)), which \(taken.driver ?? "?") did not "
          + "bring up; its firmware is missing, perhaps",
        remedy: "sudo dmesg | grep -iE 'bluetooth|firmware'")
    }
    return Check(
      "adapter", .problem, text,
      remedy: "plug one in; one on a serial port wants its driver (sudo btattach); endpoints that "
        + "begin with air: work without")
  }

  private static func state(
    of adapter: AdapterInformation, _ evidence: MachineEvidence, _ mark: Mark
  ) -> [Check] {
    let label = adapter.label
    guard adapter.supported.contains(.le) else {
      return [
        Check(
          "le", adapter: label, mark, "the controller has no LE, and ATT is spoken over LE here",
          remedy: "use an adapter of Bluetooth 4.0 or newer")
      ]
    }
    var checks: [Check] = []
    let switches = evidence.switches.filter { $0.name == label }
    let block = blocked(switches, mark)
    if let block {
      checks.append(block)
    } else if !switches.isEmpty {
      checks.append(Check("rfkill", adapter: label, .ok, "it is not blocked"))
    }
    let isOn = adapter.settings.contains(.powered)
    let switchOn = "atto adapters \(label) --power on"
    if isOn {
      checks.append(Check("power", adapter: label, .ok, "it is powered"))
    } else {
      checks.append(
        Check(
          "power", adapter: label, mark, "it is powered off",
          remedy: block == nil ? switchOn : "unblock it first, then: \(switchOn)"))
    }
    checks.append(
      adapter.settings.contains(.le)
        ? Check("le", adapter: label, .ok, "LE is on")
        : Check("le", adapter: label, mark, "LE is off", remedy: switchOn))
    if adapter.address.value == 0 {
      checks.append(
        Check(
          "address", adapter: label, .warn,
          "it has no public address, so le:@\(label) does not work",
          remedy: "name its random address behind the @: le:@AA:BB:CC:DD:EE:FF/random"))
    }
    checks.append(
      Check(
        "bondable", adapter: label, .ok,
        adapter.settings.contains(.bondable)
          ? "peers may bond with it" : "bonding is off; atto serve and atto pair switch it on"))
    return checks
  }

  /// What rfkill's entries mean; nil if they block nothing.
  private static func blocked(_ switches: [MachineEvidence.RadioSwitch], _ mark: Mark) -> Check? {
    if let hard = switches.first(where: \.isHard) {
      return Check(
        "rfkill", adapter: hard.name, mark,
        "it is blocked by a switch or key of the machine, or by its firmware (\(hard.entry))",
        remedy:
          "use the switch or key for radios (aeroplane mode), or look into the firmware's setup")
    }
    if let soft = switches.first(where: \.isSoft) {
      return Check(
        "rfkill", adapter: soft.name, mark, "it is blocked by software (\(soft.entry))",
        remedy: "sudo rfkill unblock bluetooth, or: echo 0 | sudo tee /sys/class/rfkill/"
          + "\(soft.entry)/soft")
    }
    return nil
  }
}
