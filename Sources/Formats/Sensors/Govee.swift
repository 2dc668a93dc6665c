import AttoText

/// Govee thermometers, hygrometers and probes, and sensors of presence and of events.
enum Govee {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    for manufacturer in device.data.manufacturerData where manufacturer.company != 0x004C {
      var data = manufacturer.data
      // Some models append a beacon of Apple's format.
      if data.count > 25, data.hasPart(intelliRocks) { data.removeLast(25) }
      if data.count == eventLength {
        if let event = decodeEvent(device, Octets(data)) { return event }
        continue
      }
      for rule in rules where rule.matches(device, manufacturer.company, data.count) {
        // Prefixes of an encrypted broadcast that other products share.
        if rule.layout == .presence, ![[0xEC, 0, 1, 1], [0xEC, 0, 2, 1]].contains(data.prefix(4)) {
          continue
        }
        let named = rule.names.first(where: device.isNamed)
        let model = named.map { "H\($0.suffix(4))" } ?? rule.model
        var result = SensorAdvertisement("Govee", model: model, manufacturer: "Govee")
        rule.layout.add(Octets(data), to: &result)
        return result
      }
    }
    return nil
  }

  private static let intelliRocks = Array("INTELLI_ROCKS".utf8)

  /// Which advertisements have a layout: those of these lengths, with one of the names, the companies or
  /// the service. The companies are not assigned to Govee.
  private struct Rule: Sendable {
    var lengths: ClosedRange<Int>
    var layout: Layout
    var model: String
    var names: [String]
    var companies: [UInt16] = []
    var service: UInt16?

    func matches(_ device: SensorDevice, _ company: UInt16, _ length: Int) -> Bool {
      guard lengths.contains(length), length != 7 || lengths == 7...7 else { return false }
      // H5108's company counts only with the longer data.
      let isCompany = companies.contains(company) && (company != 1 || length > 6)
      return isCompany || names.contains(where: device.isNamed)
        || service.map(device.hasService) ?? false
    }
  }

  /// The first rule that matches counts.
  private static let rules: [Rule] = [
    Rule(
      lengths: 6...6, layout: .presence, model: "H5127", names: ["H5127"],
      companies: [0x8803, 0x8843]),
    Rule(
      lengths: 6...6, layout: .packed(1), model: "H5075", names: ["H5072", "H5075", "H5129"],
      companies: [0xEC88]),
    Rule(lengths: 8...8, layout: .twoProbes, model: "H5112", names: ["H5112", "GV5112"]),
    Rule(lengths: 8...8, layout: .carbonDioxide, model: "H5140", names: ["5140"]),
    Rule(
      lengths: 6...8, layout: .packed(2), model: "H5108",
      names: [
        "H5108", "H5100", "H5101", "H5102", "H5103", "H5104", "H5105", "H5174", "H5177", "H5110",
        "GV5179",
      ], companies: [1]),
    Rule(lengths: 7...7, layout: .plain(1), model: "H5074", names: ["H5074"], companies: [0xEC88]),
    Rule(
      lengths: 9...9, layout: .plain(1), model: "H5051", names: ["H5071", "H5052", "H5051"],
      companies: [0xEC88]),
    Rule(
      lengths: 9...9, layout: .remote, model: "H5178", names: ["H5178", "B5178"], companies: [1]),
    Rule(lengths: 9...9, layout: .plain(4), model: "H5179", names: ["H5179"], companies: [0x8801]),
    Rule(
      lengths: 14...14, layout: .probes([8]), model: "H5181", names: ["H5181"],
      companies: [0xF861, 0x388A, 0xEA42, 0xAAA2, 0xD14B], service: 0x8151),
    Rule(
      lengths: 17...17, layout: .probes([8, 13]), model: "H5182", names: ["H5182"],
      companies: [0x2730], service: 0x8251),
    Rule(
      lengths: 14...14, layout: .probes([8]), model: "H5183", names: ["H5183"],
      companies: [0x67DD, 0xE02F, 0xF79F], service: 0x8351),
    Rule(
      lengths: 17...17, layout: .pairs([8, 13], hasLow: false), model: "H5184", names: ["H5184"],
      companies: [0x1B36], service: 0x8451),
    Rule(
      lengths: 20...20, layout: .probes([8, 14]), model: "H5185", names: ["H5185"],
      companies: [0x4A32, 0x0332, 0x4C32], service: 0x8551),
    Rule(
      lengths: 20...20, layout: .ambient, model: "H5191", names: ["H5191"], companies: [0xAC63],
      service: 0x9151),
    Rule(
      lengths: 20...20, layout: .pairs([8, 14], hasLow: true), model: "H5198", names: ["H5198"],
      companies: [0x3022], service: 0x9851),
    Rule(lengths: 20...20, layout: .sixProbes, model: "H5055", names: [], service: 0x5550),
    Rule(lengths: 6...6, layout: .particles, model: "H5106", names: ["H5106"]),
  ]
}
