extension Xiaomi {
  /// Objects without code, by type: the length, or 0 for any, and the fields.
  static let table: [UInt16: (Int, [SensorField])] = [
    0x1004: (2, SensorField.list("temperature s2/10")),
    0x1005: (0, SensorField.list("powerOn u1, temperature@1 u1")),
    0x1008: (0, SensorField.list("moisture u1")),
    0x1009: (2, SensorField.list("conductivity u2")),
    0x100A: (0, SensorField.list("battery u1")),
    0x100D: (4, SensorField.list("temperature s2/10, humidity@2 u2/10")),
    0x1010: (2, SensorField.list("formaldehyde u2/100")),
    0x1012: (0, SensorField.list("powerOn u1")),
    0x1013: (0, SensorField.list("consumable u1")),
    0x1014: (0, SensorField.list("wetness u1")),
    0x1015: (0, SensorField.list("smoke u1")),
    0x1018: (0, SensorField.list("light u1")),
    0x4802: (0, SensorField.list("humidity u1")),
    0x4803: (0, SensorField.list("battery u1")),
    0x483C: (1, SensorField.list("occupancy u1")),
    0x483D: (4, SensorField.list("pressurePresentDuration u4")),
    0x483E: (4, SensorField.list("pressureNotPresentDuration u4")),
    0x4851: (0, SensorField.list("durationDetected u1")),
    0x4852: (0, SensorField.list("durationCleared u1")),
    0x4A01: (0, SensorField.list("batteryLow u1")),
    0x4C02: (1, SensorField.list("humidity u1")),
    0x4C03: (0, SensorField.list("battery u1")),
    0x4E01: (0, SensorField.list("batteryLow u1")),
    0x5003: (0, SensorField.list("battery u1")),
  ]

  /// Models by product ID. Objects of other products are decoded too.
  static let models: [UInt16: String] = {
    var models: [UInt16: String] = [:]
    for entry in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
      let pair = entry.split(separator: "=")
      if pair.count == 2, let id = UInt16(pair[0], radix: 16) { models[id] = String(pair[1]) }
    }
    return models
  }()

  private static let text = """
    0083=YM-K1501 0098=HHCCJCY01 00DB=MMC-T201-1 0113=YM-K1501EU 0153=YLYK01YL 015D=HHCCPOT002
    01AA=LYWSDCGQ 02DF=JQJCY01YM 0347=CGG1 0380=DSL-C08 0387=MHO-C401 0391=MMC-W505
    03B6=YLKG07YL/YLKG08YL 03BC=GCLS002 03BF=YLYB01YL-BHFRC 03D6=CGH1 03DD=MUE4094RT 040A=WX08ZM
    045B=LYWSD02 045C=V-SK152 0489=M1S-T500 04E1=XMMF01JQD 04E6=YLYK01YL-VENFAN 04E9=MJZNMSQ01YD
    055B=LYWSD03MMC 0576=CGD1 0599=MJZNMS03LM 066F=CGDK2 068E=YLYK01YL-FANCL 069E=ZNMS16LM
    069F=ZNMS17LM 06D3=MHO-C303 0784=XMZNMS04LM 07BF=YLAI003 07F6=MJYD02YL 0806=T700 0863=SJWS01LM
    098B=MCCGQ02HL 098C=XMZNMST02YD 0997=JTYJGD03MI 09B0=loock.safe.v1 0A83=CGPR1 0A8D=RTCGQ02LM
    0B48=CGG1-ENCRYPTED 0C3C=CGC1 0DE7=SU001-T 0DFD=K9B-3BTN 0E39=XMZNMS08LM 11C2=Lockin-SV40
    1203=XMWSDJ04MMC 1568=K9B-1BTN 1569=K9B-2BTN 16E4=LYWSD02MMC 1790=T700 1889=MS1BB(MI)
    1949=XMWXKG01YL 1C10=K9BB-1BTN 2387=XMWXKG01LM 2542=LYWSD02MMC 2832=MJWSD05MMC 2AEB=HS1BB(MI)
    30D9=MJTZC01YM 3531=XMPIRO2SXS 38BB=PTX_YK1_QMIMB 3A61=KS1 3BD5=MJTZC01YM 3E17=KS1BP
    3F0F=RS1BB(MI) 3F4C=PS1BB 45C9=MJTZC02YM 4683=XMOSB01XS 48CF=MJTZC01YM 4B05=MJTZC03YM
    4C04=MJTZC02YM 4C47=MJWSD05MMC 4C60=XMPIRO2GSXS 4DCB=MJTZC02YM 4F59=CGDK3 4FC2=MJTZC01YM
    50FB=ES3 520B=KS2BB 55B5=MJWSD06MMC 5968=XMWS01XS 59FA=M2457B1 59FB=M2456B1 59FC=M2456B1
    5BEA=MJWSD06MMC 5DB1=MBS17 6188=M2456B1 6375=SJWS02LM 6A0F=ES5BB 7712=zhiee.flood.sj01
    78A3=AFWXKG220000 78D1=MC-COMM 78DB=ESM787
    """
}
