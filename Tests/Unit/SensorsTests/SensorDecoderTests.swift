import AttoATT
import AttoGATT
import AttoLinks
import AttoRadio
import TestSupport
import Testing

@testable import AttoSensors

/// Advertisements of sensors, decoded. The oracle in Tests/System/Sensors compares many more.
@Suite(.sideBySide) struct SensorDecoderTests {
  /// Decodes service data or manufacturer data, given as `TYPE HEX`, and shows it in one text.
  private func text(
    _ name: String? = nil, _ structures: String..., key: String? = nil,
    address: String = "54:48:E6:8F:80:A5"
  ) throws -> String {
    var octets: [UInt8] = []
    if let name { octets += [UInt8(name.utf8.count + 1), 0x09] + Array(name.utf8) }
    for structure in structures {
      let value = try #require(Hex.octets(structure.utf8, separators: " "))
      octets += [UInt8(value.count)] + value
    }
    let address = try #require(BluetoothAddress(address))
    var decoder = SensorDecoder()
    if let key {
      let octets = try #require(Hex.octets(key.utf8))
      decoder.keys[address.value] = octets
    }
    guard let found = decoder.decode(AdvertisingData(parsing: octets), from: address) else {
      return "nothing"
    }
    let model = found.model.map { " \($0)" } ?? ""
    let readings = found.readings.map(\.description).joined(separator: ", ")
    return "\(found.format)\(model): \(readings)\(found.problem.map { " (\($0))" } ?? "")"
  }

  @Test func tablesAreInTheirLanguage() {
    for type in UInt8(0x01)...0x65
    where !(0x30...0x3C).contains(type) && !(0x53...0x54).contains(type) {
      #expect(BTHome.field(type) != nil, "\(type)")
    }
    #expect(SensorKind.named("dewPoint")?.name == "Dew point")
    #expect(SensorKind.named("co2")?.unit == "ppm")
    #expect(Xiaomi.models.count == 95)
    #expect(Xiaomi.table.values.allSatisfy { !$0.1.isEmpty })
    #expect(SensorField("temperature@1 >s2*5/1000~8000")?.unknown == 0x8000)
    for wrong in [
      "nonsense u1", "temperature", "temperature s9", "temperature x2", "temperature@x u1",
    ] {
      #expect(SensorField(wrong) == nil, "\(wrong)")
    }
  }

  @Test func btHome() throws {
    // The examples of the format's pages.
    #expect(
      try text(nil, "16 D2FC 40 02CA09 03BF13")
        == "BTHome v2: temperature 25.06 °C, humidity 50.55 %")
    #expect(
      try text(
        nil, "16 D2FC 41 A47266C95F73 00112233 78237214", key: "231d39c1d7cc1ab1aee224cd096db932")
        == "BTHome v2: temperature 25.06 °C, humidity 50.55 %")
    #expect(
      try text(nil, "16 D2FC 44 3A00 3A01 3C0203 2D01")
        == "BTHome v2: button 2 press, dimmer rotate_right 3, window on")
    #expect(
      try text(nil, "16 1C18 2302CA09 0303BF13")
        == "BTHome v1: temperature 25.06 °C, humidity 50.55 %")
    #expect(
      try text(
        nil, "16 1E18 5cd756cd 05000000 ffdca5bf", key: "000102030405060708090a0b0c0d0e0f",
        address: "A4:C1:38:11:22:33") == "BTHome v1: temperature 25.06 °C")
  }

  @Test func encryptionIsChecked() throws {
    let sealed = "16 D2FC 41 A47266C95F73 00112233 78237214"
    #expect(try text(nil, sealed) == "BTHome v2:  (encrypted, and no key is given)")
    let key = "231d39c1d7cc1ab1aee224cd096db932"
    #expect(
      try text(nil, "16 D2FC 41 A47266C95F74 00112233 78237214", key: key)
        == "BTHome v2:  (does not decrypt with the key)")
    #expect(try text(nil, "16 D2FC 41 0011 78237214", key: key) == "BTHome v2:  (malformed)")
    #expect(
      try text(nil, "16 D2FC 40 02CA09", key: key)
        == "BTHome v2:  (not encrypted, although a key is given: ignored)")
    let ccm = AESCCM(key: Array(0..<16))
    #expect(ccm.decrypt([1, 2, 3], nonce: Array(0..<13)) == nil)
    #expect(ccm.decrypt([UInt8](repeating: 0, count: 9), nonce: Array(0..<14)) == nil)
    #expect(ccm.decrypt([UInt8](repeating: 0, count: 9), nonce: []) == nil)
  }

  @Test func ruuvi() throws {
    // The test vectors of Ruuvi's documentation.
    #expect(
      try text(nil, "FF 9904 05 12FC 5394 C37C 0004 FFFC 040C AC36 42 00CD CBB8334C884F")
        .hasPrefix(
          "Ruuvi 5 RuuviTag: temperature 24.3 °C, humidity 53.49 %, movements 66, pressure 1000.44 hPa"
        ))
    #expect(
      try text(nil, "FF 9904 03 29 1A1E CE1E FC18 F942 02CA 0B53").hasPrefix(
        "Ruuvi 3 RuuviTag: voltage 2.899 V, temperature 26.3 °C, humidity 20.5 %, pressure 1027.66 hPa"
      ))
    #expect(
      try text(nil, "FF 9904 06 170C 5668 C79E 0070 00C9 0501 D9 FF CD 00 4C884F")
        == "Ruuvi 6 Ruuvi Air: temperature 29.5 °C, humidity 55.3 %, PM2.5 11.2 µg/m³, CO₂ 201 ppm,"
        + " pressure 1011.02 hPa, VOC index 10, NOx index 2, illuminance 13027 lx")
    #expect(try text(nil, "FF 9904 05 1200") == "Ruuvi 5 RuuviTag:  (malformed)")
    #expect(try text(nil, "FF 9904 07 1200") == "nothing")
  }

  @Test func scalesAndDoors() throws {
    // 70.5 kg, final; in pounds, on the way; nobody on it.
    #expect(
      try text(nil, "16 1D18 22 1437 E707 0501 0A1E 28").hasSuffix(
        "mass non stabilized 70.5 kg, stabilized on, mass 70.5 kg"))
    #expect(
      try text(nil, "16 1D18 01 E803 E707 0501 0A1E 28").hasSuffix(
        "mass non stabilized 4.5359237 kg, stabilized off"))
    #expect(
      try text(nil, "16 1B18 02 26 E707 0501 0A1E 28 F401 1437").hasSuffix(
        "mass non stabilized 70.5 kg, stabilized on, mass 70.5 kg, impedance 500 Ω"))
    // The S400: with the weight, alone at the end, and idle.
    #expect(
      try text(nil, "16 95FE 4050 D930 01 166E 09 01 C1A24E1F 00000000")
        == "MiBeacon v5 MJTZC01YM: profile ID 1, mass 70.5 kg, heart rate 134 bpm,"
        + " impedance low 200.3 Ω, stabilized off")
    #expect(
      try text(nil, "16 95FE 4050 D930 01 166E 09 01 00004C1F 00000000")
        == "MiBeacon v5 MJTZC01YM: profile ID 1, impedance high 200.3 Ω, stabilized on")
    #expect(try text(nil, "16 95FE 0050 D930 01") == "MiBeacon v5 MJTZC01YM: stabilized off")
    // It ends before what its capabilities announce.
    #expect(try text(nil, "16 95FE 2040 C945 01 28") == "MiBeacon v4 MJTZC02YM:  (malformed)")
    #expect(
      try text(nil, "16 50FD 1E 00D7 0003E8 64 0190")
        == "HHCC HHCCJCY10: moisture 30 %, temperature 21.5 °C, illuminance 1000 lx,"
        + " battery 100 %, conductivity 400 µS/cm")
    #expect(
      try text(nil, "16 95FE 4050 8003 01 0600 05 DEADBEEF 01 0700 01 02")
        == "MiBeacon v5 DSL-C08: fingerprint off, key ID invalid operator,"
        + " fingerprint result match_failed, door on, door left open on")
  }

  @Test func others() throws {
    #expect(
      try text("GVH5075_1234", "FF 88EC 00 03A5D8 64 00")
        == "Govee H5075: temperature 23.9 °C, humidity 6.4 %, battery 100 %")
    #expect(
      try text("GVH5075_1234", "FF 88EC 00 03A5D8 E4 00") == "Govee H5075: battery 100 %")
    #expect(
      try text("sps", "FF C409 A00F 00 FFFF 57 06")
        == "Inkbird IBS-TH: temperature 25 °C, humidity 40 %, battery 87 %")
    #expect(
      try text("TP357 (2142)", "FF C2D7 00 22 02 2C 0B01")
        == "ThermoPro TP357: battery 100 %, temperature 21.5 °C, humidity 34 %")
    #expect(
      try text(nil, "FF DC00 0332 0F 03 00 0105 00 07 0203").hasPrefix(
        "Oral-B iO Series: brushing on, brushing state running, brushing time 65 s"))
    #expect(
      try text(nil, "FF 4C00 0215 00112233445566778899AABBCCDDEEFF 0001 0102 C5")
        == "iBeacon: UUID 00112233-4455-6677-8899-aabbccddeeff, major 1, minor 258, tx power -59 dBm"
    )
    #expect(
      try text(nil, "16 AAFE 10 F8 03 676F6F676C65 07")
        == "Eddystone-URL: tx power -8 dBm, URL https://google.com")
    #expect(
      try text(nil, "16 AAFE 20 00 0BB8 1580 00000102 00000064")
        == "Eddystone-TLM: voltage 3 V, temperature 21.5 °C, uptime 10 s")
    #expect(
      try text(
        nil, "16 95FE 58585b050733221138c1a41c38c2b62e010203a41b77cb",
        key: "000102030405060708090a0b0c0d0e0f", address: "A4:C1:38:11:22:33")
        == "MiBeacon v5 LYWSD03MMC: temperature 23.5 °C")
    #expect(
      try text(nil, "16 95FE 5020AA01 70 A5808FE64854 0D1004FE004802", address: "54:48:E6:8F:80:A5")
        == "MiBeacon v2 LYWSDCGQ: temperature 25.4 °C, humidity 58.4 %")
  }

  /// Sensors of events, each encrypted under its time.
  @Test func goveeEvents() throws {
    let time = "FF 88EC 0001 0a0b0c0d"
    for (sealed, wanted) in [
      ("271a41a2e670b34ce4e571501900833dfc59", "H5121: battery 100 %, motion detected motion"),
      ("037052d8af526d9cfd70717be8668dbe2c52", "H5122: battery 100 %, button 0 press"),
      ("278229c65034ebf2c0b4adc646c86d49d6f1", "H5123: battery 100 %, window on"),
      (
        "1cf247b18e463601b186398022a4a509c629", "H5124: battery 100 %, vibration detected vibration"
      ),
      ("3dc46a2c583b9e9cc668095b65650e52661e", "H5126: battery 100 %, button 1 press"),
      ("37218655382ccdd0fb96c66c34a04e30d9ad", "H5130: battery 100 %, button 0 press, presence on"),
    ] {
      #expect(try text(nil, "\(time) \(sealed)") == "Govee \(wanted)")
    }
    // The CRC is wrong.
    #expect(try text(nil, "\(time) 271a41a2e670b34ce4e571501900833dfc58") == "nothing")
    // FIPS 197, C.1, the other way.
    let key = AES128.expand(Array(0..<16))
    var block = (0..<16).map { UInt8($0 * 0x11) }
    AES128.encrypt(&block, key)
    #expect(AES128Inverse.decrypt(block, key) == (0..<16).map { UInt8($0 * 0x11) })
  }

  /// Buttons, dimmers and locks: what a number means is the model's affair.
  @Test func xiaomiEvents() throws {
    for (octets, wanted) in [
      ("5301 07 0110 03 030002", "YLYK01YL: button plus long_press"),
      ("b603 07 0110 03 00c804", "YLKG07YL/YLKG08YL: dimmer rotate_left 56"),
      ("6915 07 0110 03 020001", "K9B-2BTN: button left long_press, button right long_press"),
      ("613a 07 0d56 01 03", "KS1: button mid right double_press"),
      // Without data.
      ("0b52 07 0e56 00", "KS2BB: button long_press"),
      (
        "9f06 07 0b00 09 26 07000180 00000000",
        "ZNMS17LM: child lock off, key ID Fingerprint key id 7, lock action turn_on_child_lock, "
          + "lock method biometrics"
      ),
      (
        "9e06 07 0b00 09 1f 0300dec0 00000000",
        "ZNMS16LM: lock on, lock error lock_picking, lock action abnormal, lock method password"
      ),
      // Another length, an unknown action, a button and a way that do not exist.
      ("9f06 07 0b00 08 26 07000180 000000", "ZNMS17LM: "),
      ("9f06 07 0b00 09 29 07000180 00000000", "ZNMS17LM: "),
      ("5301 07 0110 03 090002", "YLYK01YL: "), ("6915 07 0110 03 000009", "K9B-2BTN: "),
    ] {
      #expect(try text(nil, "16 95FE 4050 \(octets)") == "MiBeacon v5 \(wanted)")
    }
    for kind in ["button", "dimmer", "cube", "lockAction", "lockError", "motionDetected"] {
      #expect(SensorKind.named(kind)?.eventTypes.isEmpty == false)
    }
  }

  /// Octets of each format, cut and changed at random, decode to something or nothing and never
  /// trap.
  @Test func hostileOctets() {
    var random = SplitMix64(seed: testSeed("sensors"))
    let decoder = SensorDecoder(keys: [1: Array(0..<16)])
    let names = [
      nil, "GVH5075_1", "sps", "tps", "iBBQ", "TP357 (1)", "TP970 (1)", "GV5112", "H5055", "B5178",
    ]
    let services: [UInt16] = [0xFCD2, 0x181C, 0x181E, 0xFE95, 0xFEAA]
    let companies: [UInt16] = [0x0499, 0xEC88, 1, 0x8801, 0x00DC, 0x004C, 0x3254, 0x2449, 0x8803]
    for round in 0..<20_000 {
      var data = AdvertisingData()
      data.localName = names[Int(random.next() % UInt64(names.count))]
      let octets = random.octets(Int(random.next() % 42))
      var value = octets
      if round % 2 == 0, !value.isEmpty {
        value[0] = [3, 5, 6, 0xE1, 0x40, 0x41, 2, 0x20][round / 2 % 8]
      }
      data.serviceData = [.init(BluetoothUUID(services[round % services.count]), value)]
      data.manufacturerData = [.init(company: companies[round % companies.count], value)]
      data.serviceUUIDs = [BluetoothUUID(0x5550), BluetoothUUID(0xFFF0)]
      if round % 3 == 0 { data.serviceData = [] }
      let found = decoder.decode(data, from: BluetoothAddress(UInt64(round % 2)))
      let keys = found?.readings.map(\.key) ?? []
      #expect(Set(keys).count == keys.count)
      for case .number(let number) in found?.readings.map(\.value) ?? [] {
        #expect(number.isFinite)
      }
    }
  }
}
