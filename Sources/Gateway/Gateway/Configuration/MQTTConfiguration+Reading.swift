import AttoFormats
import AttoText

extension Configuration.MQTT {
  static let keys = [
    "url", "version", "user", "passwordFile", "caFile", "certificateFile", "keyFile", "alpn",
    "clientID", "topic", "homeAssistant", "homeAssistantPrefix", "qos", "keepAliveSeconds",
    "queue", "queueLimit", "values", "retain", "connectAny", "allowPlaintext", "answers",
  ]
  /// Brokers that can be given.
  static let brokerLimit = 16

  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    let url = try object.required("url", "the broker's address, such as \"mqtts://host:8883\"")
    self.init(brokers: try Self.brokers(url))
    if let field = object["version"] {
      let word = try field.word(Version.allCases.map(\.rawValue))
      version = Version(rawValue: word) ?? version
    }
    user = try object["user"]?.text(limit: 1024)
    passwordFile = try object["passwordFile"]?.readableFile
    caFile = try object["caFile"]?.certificates
    certificateFile = try object["certificateFile"]?.readableFile
    keyFile = try object["keyFile"]?.readableFile
    alpn = try object["alpn"]?.text(limit: 255)
    clientID = try object["clientID"]?.text(limit: 128)
    topic = try object["topic"]?.topic ?? topic
    answers = try object["answers"]?.topic ?? "\(topic)/answers"
    homeAssistant = try object["homeAssistant"]?.bool ?? homeAssistant
    homeAssistantPrefix = try object["homeAssistantPrefix"]?.topic ?? homeAssistantPrefix
    qos = try object["qos"]?.integer(0...1) ?? qos
    keepAlive = try object["keepAliveSeconds"]?.integer(5...3600, unit: " of seconds") ?? keepAlive
    if let field = object["values"] {
      let word = try field.word(ValueStyle.allCases.map(\.rawValue))
      values = ValueStyle(rawValue: word) ?? values
    }
    retains = try object["retain"]?.bool
    connectsAny = try object["connectAny"]?.bool ?? connectsAny
    allowsPlaintext = try object["allowPlaintext"]?.bool ?? allowsPlaintext
    queue = try object["queue"]?.filePath
    queueLimit = try object["queueLimit"]?.integer(0...10_000_000) ?? queueLimit
    try checkCombinations(object)
  }

  private func checkCombinations(_ object: ProfileObject) throws(ProfileError) {
    if (certificateFile == nil) != (keyFile == nil) {
      let missing = certificateFile == nil ? "certificateFile" : "keyFile"
      throw ProfileError(
        object.path, expected: "both \"certificateFile\" and \"keyFile\"",
        found: "no \"\(missing)\"")
    }
    if passwordFile != nil, user == nil {
      throw ProfileError(
        object.path, expected: "the key \"user\" beside \"passwordFile\"", found: "none")
    }
    // An attacker who blocks the encrypted connection must not get the password over the other one.
    if passwordFile != nil, !allowsPlaintext, brokers.contains(where: \.usesTLS),
      let plain = brokers.first(where: { !$0.usesTLS })
    {
      throw ProfileError(
        object.path,
        expected:
          "mqtts:// for every broker that may get the password, or \"allowPlaintext\": true",
        found: "\(plain)")
    }
    for key in ["caFile", "certificateFile", "alpn"] {
      guard let field = object[key], let plain = brokers.first(where: { !$0.usesTLS }) else {
        continue
      }
      throw ProfileError(
        field.path, expected: "TLS (mqtts://) for every broker", found: "\(plain)")
    }
  }

  /// One URL, or a list of them.
  private static func brokers(_ field: ProfileField) throws(ProfileError) -> [Broker] {
    let fields = (try? field.list) ?? [field]
    guard 1...brokerLimit ~= fields.count else {
      throw ProfileError(
        field.path, expected: "1 to \(brokerLimit) brokers", found: "\(fields.count)")
    }
    var brokers: [Broker] = []
    for field in fields { brokers.append(try Broker(field)) }
    return brokers
  }
}

extension Configuration.MQTT.Broker {
  fileprivate init(_ field: ProfileField) throws(ProfileError) {
    let expected = "\"mqtt://host:1883\" or \"mqtts://host:8883\""
    let text = try field.string(expected)
    let usesTLS = text.hasPrefix("mqtts://")
    guard usesTLS || text.hasPrefix("mqtt://") else { throw field.mistake(expected) }
    var rest = String(text.dropFirst(usesTLS ? 8 : 7))
    if rest.hasSuffix("/") { rest.removeLast() }
    guard !rest.contains("@") else {
      throw ProfileError(
        field.path, expected: "the user in \"user\" and the password in \"passwordFile\"",
        found: "both in the URL")
    }
    let port = usesTLS ? "8883" : "1883"
    let hasPort = rest.hasPrefix("[") ? !rest.hasSuffix("]") : rest.contains(":")
    guard let (host, number) = ProfileField.hostAndPort(hasPort ? rest : "\(rest):\(port)"),
      number > 0, host.utf8.count <= 253,
      host.utf8.allSatisfy({ ProfileField.isNameOctet($0) || $0 == 0x2E || $0 == 0x3A })
    else { throw field.mistake(expected) }
    self.init(host: host, port: number, usesTLS: usesTLS)
  }
}

extension ProfileField {
  /// A file with certificates in PEM.
  fileprivate var certificates: String {
    get throws(ProfileError) {
      let file = try readableFile
      let text = String(decoding: try Self.bytes(ofFile: file, waits: false), as: UTF8.self)
      guard text.utf8.hasPart("CERTIFICATE-----".utf8) else {
        throw ProfileError(
          path, expected: "a file with certificates in PEM", found: "none in \(file)")
      }
      return file
    }
  }

  /// Levels of a topic, without wildcards and not empty.
  fileprivate var topic: String {
    get throws(ProfileError) {
      let expected = "a topic without \"+\", \"#\" and empty levels"
      let text = try text(limit: 256)
      let levels = text.split(separator: "/", omittingEmptySubsequences: false)
      guard levels.allSatisfy({ !$0.isEmpty }), !text.utf8.contains(0),
        !text.contains("+"), !text.contains("#"), !text.hasPrefix("$")
      else { throw mistake(expected) }
      return text
    }
  }
}
