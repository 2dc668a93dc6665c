import Glibc

extension Configuration {
  /// What is allowed and rarely meant, each with what to do about it: devices that strangers could use, and
  /// secrets that they could read. Looks at the permissions of files.
  ///
  /// - Parameter file: this configuration's own file.
  package func warnings(file: String) -> [String] {
    var found: [String] = []
    if let esphome, esphome.key == nil, !esphome.listen.isLocal {
      found.append(
        "esphome: without encryption at \(esphome.listen), everybody in the network can use the devices\n"
          + "hint: set \"key\", or \"listen\": \"127.0.0.1:6053\"")
    }
    if let metrics, !metrics.isLocal {
      found.append(
        "metrics: everybody in the network can read them at \(metrics)\n"
          + "hint: \"metrics\": \"127.0.0.1:9273\", behind a server that asks for a password")
      if pageToken != nil {
        found.append(
          "pageToken: browsers send it to \(metrics) in clear text\n"
            + "hint: \"metrics\": \"127.0.0.1:9273\", behind a server with TLS")
      }
    }
    if let mqtt {
      for broker in mqtt.brokers
      where mqtt.passwordFile != nil && !broker.usesTLS && !broker.place.isLocal {
        found.append("mqtt: the password goes to \(broker) in clear text\nhint: use mqtts://")
      }
      if mqtt.connectsAny {
        found.append(
          "mqtt: with \"connectAny\", every client that can publish below \"\(mqtt.topic)\" can use every "
            + "device in range\nhint: let the broker's access list say which clients those are")
      }
    }
    let secrets =
      [mqtt?.passwordFile, mqtt?.keyFile, esphome?.keyFile, hasSecrets ? file : nil]
      + sensors.map(\.bindKeyFile)
    for case let path? in secrets where Self.isReadByOthers(path) {
      found.append(
        "\(path): other users of this machine can read its secrets\n"
          + "hint: let the gateway's user or its group own it, then chmod o= \(path)")
    }
    return found
  }

  /// Whether a key or a passkey is in the file itself.
  private var hasSecrets: Bool {
    esphome?.key != nil && esphome?.keyFile == nil || devices.contains { $0.passkey != nil }
      || pageToken != nil
      || sensors.contains { $0.bindKey != nil && $0.bindKeyFile == nil }
      || presence.contains(where: \.hasKey)
  }

  /// Whether the mode of a file, and of each folder above it, lets every user read it.
  private static func isReadByOthers(_ path: String) -> Bool {
    guard let resolved = realpath(path, nil) else { return false }
    defer { free(resolved) }
    var place = String(cString: resolved)[...]
    var permission: mode_t = 0o004
    while true {
      var status = stat()
      guard stat(place.isEmpty ? "/" : String(place), &status) == 0,
        status.st_mode & permission != 0
      else { return false }
      guard let slash = place.lastIndex(of: "/") else { return true }
      place = place[..<slash]
      permission = 0o001
    }
  }
}

extension ListeningPlace {
  /// Whether only this machine can reach it.
  var isLocal: Bool {
    switch self {
    case .unix: true
    case .internet(let host, _): host == "::1" || host == "localhost" || host.hasPrefix("127.")
    }
  }
}

extension Configuration.MQTT.Broker {
  fileprivate var place: ListeningPlace { .internet(host: host, port: port) }
}
