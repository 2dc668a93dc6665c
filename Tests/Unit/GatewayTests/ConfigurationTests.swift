import Atto
import AttoATT
import Glibc
import TestSupport
import Testing

@testable import AttoGateway

@Suite("The configuration of a gateway", .oneByOne) struct ConfigurationTests {
  static func read(_ text: String) throws(ConfigurationError) -> Configuration {
    try Configuration(json: Array(text.utf8), file: "gateway.json")
  }

  static let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

  @Test func theTokenOfThePage() throws {
    let rest = #""name": "hall", "metrics": "127.0.0.1:9273", "askPasskeys": true"#
    let token = "correct-horse-battery"
    #expect(try Self.read(#"{\#(rest), "pageToken": "\#(token)"}"#).pageToken == token)
    for (text, expected) in [
      (#"{\#(rest), "pageToken": "fifteen-letters"}"#, "expected 16 to 128 characters"),
      (#"{\#(rest), "pageToken": "with a space in it"}"#, "expected 16 to 128 characters"),
      (#"{"name": "hall", "metrics": "127.0.0.1:9273", "pageToken": "\#(token)"}"#, "askPasskeys"),
    ] {
      let error = #expect(throws: ConfigurationError.self) { try Self.read(text) }
      let words = try #require(error).description
      #expect(words.contains(expected))
      #expect(!words.contains(token) && !words.contains("fifteen") && !words.contains("a space"))
    }
  }

  /// Scan responses are asked for where names and unknown devices matter.
  @Test func scansActively() throws {
    for (more, wanted) in [
      ("", false), (#", "advertisements": {"active": true}"#, true),
      (#", "devices": [{"name": "a", "match": {"address": "A4:C1:38:11:22:33"}}]"#, false),
      (#", "devices": [{"name": "a", "match": {"localName": "x"}}]"#, true),
      (#", "devices": [{"name": "a", "match": {"service": "180D"}}]"#, true),
      (#", "esphome": {"encryption": false}"#, true),
      (#", "esphome": {"encryption": false}, "advertisements": {"active": false}"#, false),
      (#", "mqtt": {"url": "mqtt://[::1]"}, "advertisements": {"forward": true}"#, true),
    ] {
      let configuration = try Self.read("{ \"name\": \"hall\"\(more) }")
      #expect(configuration.scansActively == wanted, "\(more)")
      #expect(configuration.advertisements.repeatTime == .seconds(10))
    }
    #expect(throws: ConfigurationError.self) {
      try Self.read(#"{ "name": "hall", "advertisements": {"repeatSeconds": 3601} }"#)
    }
  }

  @Test func timesOfScans() throws {
    func timing(_ keys: String) throws -> ScanTiming? {
      try Self.read(#"{ "name": "hall", "advertisements": {\#(keys)} }"#).advertisements.timing
    }
    #expect(try timing("") == nil)
    let whole = try timing(#""scanWindowMilliseconds": 60, "scanIntervalMilliseconds": 60"#)
    #expect(whole == ScanTiming(interval: 0x60, window: 0x60))
    for wrong in [
      #""scanWindowMilliseconds": 60"#, #""scanIntervalMilliseconds": 60"#,
      #""scanWindowMilliseconds": 61, "scanIntervalMilliseconds": 60"#,
      #""scanWindowMilliseconds": 2, "scanIntervalMilliseconds": 60"#,
      #""scanWindowMilliseconds": 60, "scanIntervalMilliseconds": 10241"#,
    ] {
      #expect(throws: ConfigurationError.self) { _ = try timing(wrong) }
    }
  }

  @Test func sensors() throws {
    let mqtt = #""name": "hall", "mqtt": {"url": "mqtt://[::1]"}"#
    let address = #""address": "A4:C1:38:11:22:33""#
    let configuration = try Self.read(
      """
      { \(mqtt), "sensors": [{"name": "cellar", \(address), "expireSeconds": 60,
        "bindKey": "231d39c1d7cc1ab1aee224cd096db932"}] }
      """)
    #expect(configuration.sensors.map(\.name) == ["cellar"])
    #expect(configuration.sensors.first?.bindKey?.count == 16)
    #expect(configuration.sensors.first?.expiry == .seconds(60))
    for (text, wrong) in [
      (#"[{"name": "cellar"}]"#, "the sensor's address"),
      (#"[{"name": "a", \#(address), "bindKey": "00"}]"#, "16 octets in hex"),
      (
        #"[{"name": "a", \#(address), "bindKeyFile": "/etc/passwd"}]"#,
        "a file with 16 octets in hex"
      ),
      (#"[{"name": "a", \#(address), "bindKeyFile": "passwd"}]"#, "an absolute path"),
      (
        #"[{"name": "a", \#(address), "bindKey": "00", "bindKeyFile": "/etc/passwd"}]"#,
        "one of \"bindKey\" and \"bindKeyFile\""
      ),
      (
        #"[{"name": "a", \#(address)}, {"name": "a", "address": "A4:C1:38:11:22:34"}]"#,
        "each name once"
      ),
      (#"[{"name": "a", \#(address)}, {"name": "b", \#(address)}]"#, "another address"),
    ] {
      let error = #expect(throws: ConfigurationError.self) {
        try Self.read("{ \(mqtt), \"sensors\": \(text) }")
      }
      #expect("\(try #require(error))".contains(wrong), "\(text)")
    }
    #expect(throws: ConfigurationError.self) {
      try Self.read(#"{ "name": "hall", "sensors": [{"name": "a", \#(address)}] }"#)
    }
  }

  @Test func everything() throws {
    let configuration = try Self.read(
      """
      { "name": "hall", "adapters": ["air", "hci1"], "fleet": "home", "log": "debug",
        "esphome": {"listen": "127.0.0.1:6053", "key": "\(Self.key)", "clients": 3},
        "mqtt": {"url": ["mqtts://broker:8883", "mqtts://[::1]"], "user": "atto",
                 "passwordFile": "/etc/passwd", "topic": "a/b",
                 "homeAssistant": true, "retain": false, "version": "3.1.1", "queueLimit": 10},
        "devices": [
          {"name": "strap", "match": {"localName": "Atto Strap"}, "security": "medium",
           "passkey": 123456, "characteristics": {"rate": {"uuid": "2A37", "service": "180D", "retain": true}},
           "subscribe": ["rate", "0x0012"], "read": [{"uuid": "2A19", "everySeconds": 60}],
           "sequences": {"poll": [{"write": "180D/2A39", "value": "hex:01", "response": false},
             {"pauseMilliseconds": 100}, {"expect": "rate", "beginning": "hex:00"},
             {"read": "2A19"}]}},
          {"name": "lock", "match": {"address": "AA:BB:CC:DD:EE:FF/random"}, "hold": false},
          {"name": "tag", "match": {"manufacturerData": {"0x0059": "hex:01"}, "service": "180F"}}],
        "advertisements": {"forward": true, "active": false, "minimumRSSI": -80},
        "metrics": "[::1]:9273", "limits": {"connections": 16, "attemptSeconds": 5},
        "comment": "for people" }
      """)
    #expect(configuration.adapters == [.air, .hci(1)])
    #expect(configuration.esphome?.key == Array("0123456789abcdef0123456789abcdef".utf8))
    #expect(
      configuration.mqtt?.brokers.map(\.description) == [
        "mqtts://broker:8883", "mqtts://[::1]:8883",
      ])
    #expect(configuration.mqtt?.version == .v311)
    #expect(configuration.metrics == .internet(host: "::1", port: 9273))
    #expect(configuration.limits.connections == 16)
    #expect(configuration.limits.attemptTime == .seconds(5))
    #expect(configuration.log == .debug)
    let strap = configuration.devices[0]
    #expect(strap.security == .medium && strap.passkey == 123_456)
    #expect(strap.characteristics[0].isRetained == true && configuration.mqtt?.retains == false)
    #expect(strap.subscribe == [.name("rate"), .handle(0x12)])
    #expect(strap.read == [.init(.uuid(0x2A19, service: nil), every: .seconds(60))])
    #expect(
      strap.sequences["poll"] == [
        .write(.uuid(0x2A39, service: 0x180D), [1], withResponse: false),
        .pause(.milliseconds(100)),
        .expect(.name("rate"), beginning: [0], within: .seconds(5)),
        .read(.uuid(0x2A19, service: nil)),
      ])
    #expect(configuration.devices[1].match.address == BluetoothAddress("AA:BB:CC:DD:EE:FF/random"))
    #expect(!configuration.devices[1].isHeld)
    #expect(configuration.devices[2].match.company == 0x59)
  }

  @Test func presence() throws {
    let text = #"""
      {"name": "a", "mqtt": {"url": "mqtt://b"}, "presence": [
        {"name": "tag", "address": "C0:00:00:00:00:05", "awaySeconds": 60},
        {"name": "phone", "irk": "ec0234a357c8ad05341010a60a397d9b"},
        {"name": "watch", "irk": "m305CqYQEDQFrchXozQC7A=="},
        {"name": "bag", "iBeacon": {"uuid": "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", "major": 1}}]}
      """#
    // The same key in both forms is one device.
    #expect(throws: ConfigurationError.self) { try Configuration(json: Array(text.utf8)) }
    let other = text.replacing("m305Cq", with: "n305Cq")
    let found = try Configuration(json: Array(other.utf8)).presence
    #expect(found.map(\.name) == ["tag", "phone", "watch", "bag"])
    #expect(found[0].awayTime == .seconds(60) && found[1].awayTime == .seconds(180))
    guard case .key(let key) = found[2].identity, case .beacon(let uuid, 1, nil) = found[3].identity
    else {
      Issue.record("\(found)")
      return
    }
    #expect(key.prefix(2) == [0xEC, 0x02] && key.last == 0x9F && uuid.prefix(2) == [0xE2, 0xC5])
    for (member, message) in [
      (#"{"name": "x"}"#, "found none"), (#"{"name": "x", "irk": "00"}"#, "16 octets"),
      (#"{"name": "x", "irk": "0", "address": "C0:00:00:00:00:05"}"#, "16 octets"),
      (
        #"{"name": "x", "iBeacon": {"uuid": "180F"}, "address": "C0:00:00:00:00:05"}"#,
        "found several"
      ),
      (#"{"name": "x", "iBeacon": {"uuid": "180F", "major": 65536}}"#, "65535"),
      (#"{"name": "x", "address": "C0:00:00:00:00:05", "awaySeconds": 9}"#, "10"),
    ] {
      let text = #"{"name": "a", "mqtt": {"url": "mqtt://b"}, "presence": [\#(member)]}"#
      do {
        _ = try Configuration(json: Array(text.utf8))
        Issue.record("accepted: \(member)")
      } catch {
        #expect("\(error)".contains(message), "\(error)")
      }
    }
    let alone = #"{"name": "a", "presence": [{"name": "x", "address": "C0:00:00:00:00:05"}]}"#
    #expect(throws: ConfigurationError.self) { try Configuration(json: Array(alone.utf8)) }
  }

  @Test func mdnsIsOnWhereOthersCanConnect() throws {
    for (keys, isAnnounced) in [
      (#""key": "\#(Self.key)""#, true), (#""encryption": false"#, false),
      (#""key": "\#(Self.key)", "mdns": false"#, false),
      (#""encryption": false, "mdns": true"#, true),
      (#""key": "\#(Self.key)", "listen": "[::1]:1""#, false),
      (#""key": "\#(Self.key)", "listen": "192.0.2.1:1""#, true),
    ] {
      let text = #"{"name": "a", "esphome": {"# + keys + "}}"
      #expect(
        try Configuration(json: Array(text.utf8)).esphome?.isAnnounced == isAnnounced, "\(text)")
    }
  }

  @Test func theNameIsTheHosts() throws {
    let name = try #require(HostName.gatewayName)
    #expect(try Self.read("{}").name == name)
  }

  @Test(arguments: [
    (#"{"name": "a/b"}"#, #"1:10: name: expected a name of 1 to 64 letters"#),
    ("{\"name\": \"a\",\n \"device\": []}", #"2:12: device: expected one of the keys"#),
    (#"{"name": "a", "device": []}"#, #"(did you mean "devices"?)"#),
    (#"{"name": "a", "adapters": ["hci"]}"#, #"adapters[0]: expected "air" or"#),
    (#"{"name": "a", "adapters": []}"#, #"expected at least one adapter, found an empty list"#),
    (
      #"{"name": "a", "mqtt": {"url": "mqtts://a", "caFile": "/etc/passwd"}}"#,
      "mqtt.caFile: expected a file with certificates in PEM, found none in /etc/passwd"
    ),
    (#"{"name": "a", "adapters": ["air", "air"]}"#, #"expected each adapter once"#),
    (#"{"name": "a", "esphome": {}}"#, #"esphome: expected the key "key""#),
    (#"{"name": "a", "esphome": {"key": "MDEy"}}"#, "found 3 octets"),
    (#"{"name": "a", "esphome": {"key": "secret!"}}"#, "found no base64"),
    (
      #"{"name": "a", "esphome": {"key": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "encryption": false}}"#,
      "expected true beside a key"
    ),
    (
      #"{"name": "a", "esphome": {"encryption": false, "listen": "localhost:1"}}"#, "esphome.listen"
    ),
    (
      #"{"name": "a", "esphome": {"encryption": false, "listen": "unix:/a"}}"#,
      "esphome.listen: expected an address and a port"
    ),
    (#"{"name": "a", "mqtt": {}}"#, #"mqtt: expected the key "url""#),
    (#"{"name": "a", "mqtt": {"url": "http://a"}}"#, "mqtt.url: expected"),
    (#"{"name": "a", "mqtt": {"url": "mqtt://u:p@a"}}"#, "found both in the URL"),
    (#"{"name": "a", "mqtt": {"url": "mqtt://a", "alpn": "mqtt"}}"#, "expected TLS"),
    (#"{"name": "a", "mqtt": {"url": "mqtt://a", "passwordFile": "/no"}}"#, "No such file"),
    (
      #"{"name": "a", "mqtt": {"url": ["mqtts://a", "mqtt://b"], "user": "u", "passwordFile": "/etc/passwd"}}"#,
      #"or "allowPlaintext": true, found mqtt://b:1883"#
    ),
    (#"{"name": "a", "mqtt": {"url": "mqtt://a", "topic": "a/#"}}"#, "without"),
    (#"{"name": "a", "mqtt": {"url": "mqtts://a", "keyFile": "/etc/passwd"}}"#, "certificateFile"),
    (
      #"{"name": "a", "mqtt": {"url": "mqtt://a", "retain": 1}}"#,
      "1:53: mqtt.retain: expected true or false"
    ),
    (#"{"name": "a", "fleet": "b"}"#, #"fleet: expected the key "mqtt""#),
    (#"{"name": "a", "endpoints": "/etc/passwd"}"#, "expected a folder, found a file"),
    (#"{"name": "a", "endpoints": "tmp"}"#, "expected an absolute path"),
    (#"{"name": "a", "log": "inf"}"#, #"(did you mean "info"?)"#),
    (#"{"name": "a", "limits": {"connections": 0}}"#, "from 1 to 1024"),
    (#"{"name": "a", "devices": [{"name": "x"}]}"#, #"devices[0]: expected the key "match""#),
    (
      #"{"name": "a", "devices": [{"name": "x", "match": {}}]}"#, "expected one of the keys address"
    ),
    (#"{"name": "a", "devices": [{"name": "x", "match": {"address": "1"}}]}"#, "match.address"),
    (
      #"{"name": "a", "devices": [{"name": "x", "match": {"localName": "1"}}, {"name": "x", "match": {"localName": "2"}}]}"#,
      "devices[1].name: expected each name once"
    ),
    (
      #"{"name": "a", "devices": [{"name": "x", "match": {"localName": "1"}}, {"name": "y", "match": {"localName": "1"}}]}"#,
      #"another device than "x""#
    ),
    (
      #"{"name": "a", "devices": [{"name": "x", "match": {"localName": "1"}, "characteristics": {"rate": "2A37"}, "subscribe": ["rat"]}]}"#,
      #"(did you mean "rate"?)"#
    ),
    (
      #"{"name": "a", "devices": [{"name": "x", "match": {"localName": "1"}, "characteristics": {"beef": "2A37"}}]}"#,
      "a name that is no UUID"
    ),
    (
      #"{"name": "a", "devices": [{"name": "x", "match": {"localName": "1"}, "sequences": {"p": [{"read": "2A37", "write": "2A37"}]}}]}"#,
      "found read and write"
    ),
    (
      #"{"name": "a", "devices": [{"name": "x", "match": {"localName": "1"}, "sequences": {"p": [{"read": "2A37", "value": "hex:00"}]}}]}"#,
      #"expected no "value" in a step with "read""#
    ),
    (
      #"{"name": "a", "devices": [{"name": "x", "match": {"localName": "1"}, "passkey": 1000000}]}"#,
      "from 0 to 999999"
    ),
  ])
  func mistakes(text: String, expected: String) {
    do throws(ConfigurationError) {
      _ = try Self.read(text)
      Issue.record("accepted: \(text)")
    } catch {
      #expect("\(error)".contains(expected), "\(error)")
      #expect("\(error)".hasPrefix("gateway.json:"))
      #expect(!"\(error)".contains("secret"))
    }
  }

  /// Each is warned of what it opens to strangers, by the first words of the warnings.
  @Test(arguments: [
    (#"{"name": "a", "esphome": {"encryption": false}}"#, []),
    (#"{"name": "a", "esphome": {"encryption": false, "listen": "[::1]:1"}}"#, []),
    (
      #"{"name": "a", "esphome": {"encryption": false, "listen": "0.0.0.0:1"}}"#,
      ["esphome: without encryption at 0.0.0.0:1"]
    ),
    (#"{"name": "a", "metrics": "unix:/m"}"#, []),
    (#"{"name": "a", "metrics": "[::]:1"}"#, ["metrics: everybody"]),
    (#"{"name": "a", "mqtt": {"url": "mqtt://a"}}"#, []),
    (#"{"name": "a", "mqtt": {"url": "mqtt://a", "connectAny": true}}"#, ["mqtt: with"]),
    (
      #"{"name": "a", "mqtt": {"url": "mqtt://127.0.0.1", "user": "u", "passwordFile": "OWN"}}"#, []
    ),
    (
      #"{"name": "a", "mqtt": {"url": ["mqtts://a", "mqtt://b"], "allowPlaintext": true, "user": "u", "passwordFile": "OWN"}}"#,
      ["mqtt: the password goes to mqtt://b:1883 in clear text"]
    ),
    (#"{"name": "a", "esphome": {"keyFile": "OWN"}}"#, []),
  ])
  func warnings(text: String, expected: [String]) throws {
    let found = try Self.warnings(text, in: TemporaryFolder())
    #expect(found.count == expected.count, "\(found)")
    for (warning, start) in zip(found, expected) {
      #expect(warning.hasPrefix(start), "\(warning)")
      #expect(warning.contains("\nhint: "))
    }
  }

  /// Secrets in a file that others may read, as long as they may enter its folder.
  @Test(
    .enabled(if: access("/dev/shm", W_OK) == 0, "needs /dev/shm, a folder that others may enter"),
    arguments: [
      (
        #"{"name": "a", "mqtt": {"url": "mqtts://a", "user": "u", "passwordFile": "SECRET"}}"#,
        "SECRET"
      ),
      (#"{"name": "a", "esphome": {"keyFile": "SECRET"}}"#, "SECRET"),
      (#"{"name": "a", "esphome": {"key": "KEY"}}"#, "FILE"),
      (
        #"{"name": "a", "devices": [{"name": "x", "match": {"localName": "1"}, "passkey": 1}]}"#,
        "FILE"
      ),
    ])
  func readableSecrets(text: String, file: String) throws {
    let folder = TemporaryFolder(isInMemory: true)
    #expect(chmod(folder.path, 0o755) == 0)
    let found = try Self.warnings(text, in: folder)
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.hasPrefix("\(folder.file(file)): other users") == true, "\(found)")
    #expect(found.first?.contains("\nhint: ") == true)
    #expect(chmod(folder.path, 0o750) == 0)
    #expect(try Self.warnings(text, in: folder) == [])
  }

  /// The warnings of a configuration in FILE; it and SECRET are readable for all, OWN is not.
  private static func warnings(_ text: String, in folder: TemporaryFolder) throws -> [String] {
    let names = ["SECRET", "OWN", "FILE"]
    for name in names {
      let file = open(folder.file(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      try #require(file >= 0)
      #expect(write(file, key, key.utf8.count) == key.utf8.count)
      #expect(fchmod(file, name == "OWN" ? 0o600 : 0o644) == 0)
      close(file)
    }
    let filled = names.reduce(text.replacing("KEY", with: key)) {
      $0.replacing($1, with: folder.file($1))
    }
    return try read(filled).warnings(file: folder.file("FILE"))
  }

  /// A pipe that nobody writes, as configuration or as a file that it names.
  @Test func noPipeIsWaitedFor() throws {
    let folder = TemporaryFolder()
    let pipe = folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect { try Configuration(contentsOfFile: pipe) } throws: {
      "\($0)" == "cannot read \(pipe): not a regular file"
    }
    for text in [
      #"{"name": "a", "esphome": {"keyFile": "PIPE"}}"#,
      #"{"name": "a", "mqtt": {"url": "mqtt://a", "passwordFile": "PIPE"}}"#,
      #"{"name": "a", "mqtt": {"url": "mqtts://a", "caFile": "PIPE"}}"#,
    ] {
      #expect { try Self.read(text.replacing("PIPE", with: pipe)) } throws: {
        "\($0)".contains("found not a regular file")
      }
    }
  }

  @Test func aMissingFile() {
    #expect(throws: ConfigurationError.self) { try Configuration(contentsOfFile: "/no/such") }
  }
}
